#include "runtime/spec/property_values.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/config/configuration.h"
#include "runtime/config/job_document.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

// The largest amount of memory, a petabyte. Sums over all tasks still fit into 64 bits.
constexpr int64_t kMaxMemoryMb = 1'000'000'000;
// The longest time, ten years. Sums of times still fit into 64 bits.
constexpr int64_t kMaxMillis = int64_t{10} * 365 * 24 * 3600 * 1000;
constexpr std::string_view kOrWithUnit = ", or a number with a unit, such as 30s, 10m or 2h";

std::string_view DefaultOf(std::string_view key) {
  const Key* row = FindKey(key);
  CHECK(row);
  return row->default_value;
}

// Returns the time in a text such as "10m", which any time key accepts. A bare number is in the key's own unit, as in
// TonY.
std::optional<Duration> DurationIn(std::string_view text, Duration unit) {
  constexpr int64_t kSecond = 1000;
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ms", 1}, {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}, {"d", 24 * 3600 * kSecond}};
  int64_t each = unit.count();
  for (const auto& [name, length] : kUnits) {
    if (!text.ends_with(name)) continue;
    text = Trim(text.substr(0, text.size() - name.size()));
    each = length;
    break;
  }
  const auto number = ParseInt(text);
  if (!number || *number > kMaxMillis / each || *number < -kMaxMillis / each) return std::nullopt;
  return Duration(*number * each);
}

}  // namespace

void Problems::Note(const Error& error) {
  if (std::ranges::find(errors_, error.message, &Error::message) == errors_.end()) errors_.push_back(error);
}

// Leaves out warnings about a key that already has an error.
Status Problems::All(const std::vector<std::string>& warnings) const {
  if (errors_.empty()) return Ok();
  std::vector<std::string> lines;
  for (const Error& error : errors_) lines.push_back(error.message);
  for (const std::string& warning : warnings) {
    const std::string key = warning.substr(0, warning.find_first_of(" :"));
    const auto told = [&](const Error& error) { return error.message.starts_with(StrCat(key, ":")); };
    if (std::ranges::none_of(errors_, told)) lines.push_back(StrCat("warning: ", warning));
  }
  return Error{errors_.front().code, Join(lines, "\n")};
}

std::string PropertyValues::Text(std::string_view key) const {
  const Property* property = properties_.Find(key);
  return property ? property->value : std::string(DefaultOf(key));
}

std::vector<std::string> PropertyValues::List(std::string_view key) const {
  std::vector<std::string> items;
  for (const auto& item : Split(Text(key), ',')) {
    if (const auto trimmed = Trim(item); !trimmed.empty()) items.emplace_back(trimmed);
  }
  return items;
}

Result<bool> PropertyValues::Flag(std::string_view key) const {
  const std::string text = ToLower(Trim(Text(key)));
  if (text == "true" || text == "false") return text == "true";
  return Bad(key, "expected true or false");
}

template <class Read>
auto PropertyValues::OrDefault(std::string_view key, Read read) const {
  auto value = read(Text(key));
  if (value.ok()) return value;
  auto fallback = read(std::string(DefaultOf(key)));
  if (fallback.ok()) problems_.Note(value.error());
  return fallback.ok() ? fallback : value;
}

Result<int64_t> PropertyValues::Number(std::string_view key, int64_t least, int64_t most) const {
  return OrDefault(key, [&](const std::string& text) -> Result<int64_t> {
    const auto number = ParseInt(Trim(text));
    if (number && *number >= least && *number <= most) return *number;
    return Bad(key, StrCat("expected a whole number from ", least, " to ", most));
  });
}

Result<int> PropertyValues::Count(std::string_view key, int least, int most) const {
  TRY_ASSIGN(const int64_t number, Number(key, least, most));
  return static_cast<int>(number);
}

Result<int64_t> PropertyValues::MemoryMb(std::string_view key, int64_t least) const {
  return OrDefault(key, [&](const std::string& text) { return ReadMemoryMb(key, text, least); });
}

Result<int64_t> PropertyValues::ReadMemoryMb(std::string_view key, const std::string& value, int64_t least) const {
  const std::string text = ToLower(Trim(value));
  std::string_view digits = text;
  // Accepts "mb", "mib", "gb" and "gib", because TonY ignored letters after the m or g.
  for (const std::string_view rest : {"ib", "b"}) {
    const bool unit = digits.ends_with(StrCat("m", rest)) || digits.ends_with(StrCat("g", rest));
    if (unit) digits.remove_suffix(rest.size());
  }
  const bool gigabytes = digits.ends_with('g');
  if (gigabytes || digits.ends_with('m')) digits.remove_suffix(1);
  const auto number = ParseInt(digits);
  if (!number) return Bad(key, "expected a whole number of MB, or a number followed by m or g");
  const int64_t most = gigabytes ? kMaxMemoryMb / 1024 : kMaxMemoryMb;
  if (*number < least || *number > most) return Bad(key, StrCat("expected from ", least, " to ", kMaxMemoryMb, " MB"));
  return gigabytes ? *number * 1024 : *number;
}

Result<Duration> PropertyValues::Millis(std::string_view key, int64_t least) const {
  return OrDefault(key, [&](const std::string& text) -> Result<Duration> {
    const auto length = DurationIn(Trim(text), Duration(1));
    if (length && length->count() >= least && length->count() <= kMaxMillis) return *length;
    return Bad(key, StrCat("expected a whole number of milliseconds from ", least, " to ", kMaxMillis, kOrWithUnit));
  });
}

Result<Duration> PropertyValues::Seconds(std::string_view key, int64_t least, int64_t most) const {
  return OrDefault(key, [&](const std::string& text) -> Result<Duration> {
    const auto length = DurationIn(Trim(text), std::chrono::seconds(1));
    const Duration from = std::chrono::seconds(least), to = std::chrono::seconds(most);
    if (length && *length >= from && *length <= to) return *length;
    return Bad(key, StrCat("expected a whole number of seconds from ", least, " to ", most, kOrWithUnit));
  });
}

Error PropertyValues::Bad(std::string_view key, std::string_view expected) const {
  const Property* property = properties_.Find(key);
  const std::string_view origin = property ? std::string_view(property->origin) : "built-in default";
  return {ErrorCode::kInvalid,
          StrCat(key, ": ", Quoted(MaskedValue(key, Text(key))), " (from ", origin, "): ", expected)};
}

std::string Quoted(std::string_view text, size_t longest) { return InQuotes(text, longest); }

}  // namespace tony
