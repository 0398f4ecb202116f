#include "runtime/config/keys.h"

#include <algorithm>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

// A longer name is not a slip of the pen, and distances cost its length squared.
constexpr size_t kLongestKnownKey = 120;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

// The second words of keys that are no role.
constexpr std::string_view kReservedRoles[] = {"am",         "application", "checkpoint", "container",
                                               "containers", "docker",      "execution",  "failure",
                                               "history",    "output",      "restart",    "task"};
constexpr std::string_view kKeyOfRole = "tony.<role>.";

// How much of `text` the placeholder takes.
size_t Match(std::string_view placeholder, std::string_view text) {
  if (placeholder == "<NAME>") return text.size();
  const auto belongs = placeholder == "<group>" ? IsLetter : IsLower;
  return static_cast<size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
}

bool Matches(std::string_view pattern, std::string_view name) {
  for (;;) {
    const size_t start = pattern.find('<');
    if (start == std::string_view::npos) return pattern == name;
    if (!name.starts_with(pattern.substr(0, start))) return false;
    const size_t end = pattern.find('>', start) + 1;
    const size_t taken = Match(pattern.substr(start, end - start), name.substr(start));
    if (taken == 0 || (pattern.starts_with(kKeyOfRole) && IsReservedRole(name.substr(start, taken)))) return false;
    pattern.remove_prefix(end);
    name.remove_prefix(start + taken);
  }
}

bool IsPattern(const Key& key) { return key.name.find('<') != std::string_view::npos; }

// Insertions, removals, replacements and swaps of neighbours that turn `a` into `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// The pattern with each placeholder replaced by what `name` has in that part, so that the rest may be compared:
// "tony.<role>.memory" and "tony.worker.memroy" give "tony.worker.memory". Empty if there is nothing to put in.
std::string Instantiate(std::string_view pattern, std::string_view name) {
  const auto parts = Split(name, '.');
  if (pattern.starts_with(kKeyOfRole) && parts.size() > 1 && IsReservedRole(parts[1])) return {};
  auto pattern_parts = Split(pattern, '.');
  for (size_t i = 0; i < pattern_parts.size(); ++i) {
    if (!pattern_parts[i].starts_with('<')) continue;
    if (i >= parts.size() || Match(pattern_parts[i], parts[i]) != parts[i].size() || parts[i].empty()) return {};
    pattern_parts[i] = parts[i];
  }
  const std::string instance = Join(pattern_parts, ".");
  return instance.find('<') == std::string::npos ? instance : std::string();
}

}  // namespace

std::string_view ToString(KeyType type) {
  switch (type) {
    case KeyType::kText:
      return "text";
    case KeyType::kNumber:
      return "number";
    case KeyType::kMemory:
      return "memory";
    case KeyType::kFlag:
      return "true or false";
    case KeyType::kMillis:
      return "milliseconds";
    case KeyType::kSeconds:
      return "seconds";
    case KeyType::kList:
      return "list";
  }
  CHECK(false);
}

bool IsReservedRole(std::string_view name) {
  return std::ranges::find(kReservedRoles, name) != std::end(kReservedRoles);
}

bool IsDefault(const Key& row, std::string_view value) {
  const std::string_view text = Trim(value);
  switch (row.type) {
    case KeyType::kNumber:
    case KeyType::kMillis:
    case KeyType::kSeconds:
      return text == row.default_value || (ParseInt(text) && ParseInt(text) == ParseInt(row.default_value));
    case KeyType::kFlag:
    case KeyType::kMemory:
      return ToLower(text) == row.default_value;
    case KeyType::kText:
    case KeyType::kList:
      return text == row.default_value;
  }
  CHECK(false);
}

std::string WhyNoEffect(const Key& row, std::string_view scheduler) {
  const auto elsewhere = [&](std::string_view only) {
    return scheduler == only ? std::string() : StrCat("no effect without tony.scheduler=", only);
  };
  switch (row.effect) {
    case KeyEffect::kImplemented:
    case KeyEffect::kRefused:  // whoever reads this runs a job, so it asks for nothing
      return {};
    case KeyEffect::kLocal:
      return elsewhere("local");
    case KeyEffect::kYarn:
      return elsewhere("yarn");
    case KeyEffect::kNone:
    case KeyEffect::kNotNeeded:
      return row.reason.empty() ? "no effect yet" : StrCat("no effect: ", row.reason);
  }
  CHECK(false);
}

const Key* FindKey(std::string_view name) {
  const auto exact = std::ranges::find(AllKeys(), name, &Key::name);
  if (exact != AllKeys().end() && !IsPattern(*exact)) return &*exact;
  for (const auto& key : AllKeys()) {
    if (IsPattern(key) && Matches(key.name, name)) return &key;
  }
  return nullptr;
}

std::string NearestKey(std::string_view name) {
  if (name.size() > kLongestKnownKey) return {};
  std::string nearest;
  size_t least = std::max<size_t>(2, name.size() / 5) + 1;  // a fifth of the name may be wrong
  for (const auto& key : AllKeys()) {
    const std::string candidate = IsPattern(key) ? Instantiate(key.name, name) : std::string(key.name);
    const size_t longer = std::max(candidate.size(), name.size()), shorter = std::min(candidate.size(), name.size());
    if (candidate.empty() || longer - shorter >= least) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace tony
