#include "runtime/config/properties.h"

#include <set>

#include "runtime/base/strings.h"
#include "runtime/config/xml_text.h"

namespace tony {
namespace {

constexpr std::string_view kEnv = "env.";
constexpr size_t kMaxDepth = 20;  // Hadoop's own limit of substitutions
// The limit for all values together: twice the size of the largest file.
constexpr size_t kMaxExpandedBytes = 32u << 20;

class Expander {
 public:
  explicit Expander(const Properties& properties) : properties_(properties) {}

  Result<Properties> ExpandAll() {
    Properties out;
    for (const std::string& warning : properties_.warnings()) out.Warn(warning);
    for (const auto& [key, property] : properties_.all()) {
      TRY_ASSIGN(std::string value, Expand(key, property));
      if (key.starts_with("tony.")) WarnOfUnknown(key, property, out);
      out.Set(key, {std::move(value), property.origin, property.is_final});
    }
    out.SetSecrets(properties_.secrets());
    return out;
  }

 private:
  Result<std::string> Expand(const std::string& key, const Property& property) {
    if (const auto done = done_.find(key); done != done_.end()) return done->second;
    if (active_.size() >= kMaxDepth)
      return Failure(property, StrCat("${", key, "} is nested more than 20 levels deep"));
    for (const auto& outer : active_) {
      if (outer == key) return Failure(property, StrCat("${", key, "} refers to itself"));
    }
    active_.push_back(key);
    TRY_ASSIGN(std::string value, Substitute(property));
    active_.pop_back();
    expanded_bytes_ += value.size();
    if (expanded_bytes_ > kMaxExpandedBytes)
      return Failure(property, "the values become too large when ${...} is replaced");
    done_[key] = value;
    return value;
  }

  static std::optional<std::string> FromOutside(std::string_view name) {
    if (name.starts_with(kEnv)) return FromEnvironment(std::string(name.substr(kEnv.size())), EnvironmentVariable);
    return SystemProperty(name);
  }

  bool IsKnown(std::string_view name) const { return properties_.Find(name) || FromOutside(name); }

  // Returns the value of a name. As in Hadoop, a system property takes precedence over a key of the same name.
  Result<std::optional<std::string>> ValueOf(std::string_view name) {
    if (auto value = FromOutside(name)) return value;
    const Property* target = properties_.Find(name);
    if (!target) return std::optional<std::string>();
    TRY_ASSIGN(std::string value, Expand(std::string(name), *target));
    return std::optional<std::string>(std::move(value));
  }

  // Warns about each ${name} that neither this program nor a shell knows. Without a warning, a shell would fail with
  // "bad substitution" long after the submission.
  void WarnOfUnknown(const std::string& key, const Property& property, Properties& out) const {
    std::string_view rest = property.value;
    std::set<std::string_view> unknown;
    for (size_t start = rest.find("${"); start != rest.npos; start = rest.find("${")) {
      rest.remove_prefix(start);
      const std::string_view name = VariableName(rest);
      rest.remove_prefix(2);
      if (!CannotBeShellVariable(name) || IsKnown(name) || !unknown.insert(name).second) continue;
      out.Warn(StrCat(key, " (from ", property.origin, "): ${", name,
                      "} is left unchanged, because no key, system property or environment variable has this name"));
    }
  }

  Result<std::string> Substitute(const Property& property) {
    std::string out;
    std::string_view rest = property.value;
    for (;;) {
      const size_t start = rest.find("${");
      out.append(rest.substr(0, start));
      if (start == std::string_view::npos) return out;
      rest.remove_prefix(start);
      const std::string_view name = VariableName(rest);
      std::optional<std::string> value;
      if (!name.empty()) {
        TRY_ASSIGN(value, ValueOf(name));
      }
      const size_t consumed = value ? name.size() + 3 : 2;  // "${name}", or only "${"
      out.append(value ? *value : std::string(rest.substr(0, consumed)));
      rest.remove_prefix(consumed);
      if (out.size() > kMaxExpandedBytes)
        return Failure(property, "the values become too large when ${...} is replaced");
    }
  }

  // Returns the text between "${" and "}"; "" if the text cannot be a name.
  static std::string_view VariableName(std::string_view text) {
    const size_t end = text.find_first_of("}$ \t\r\n", 2);
    return end == std::string_view::npos || text[end] != '}' ? std::string_view() : text.substr(2, end - 2);
  }

  static Error Failure(const Property& property, std::string_view what) {
    return {ErrorCode::kInvalid, StrCat(property.origin, ": ", what)};
  }

  const Properties& properties_;
  std::map<std::string, std::string> done_;
  std::vector<std::string> active_;
  size_t expanded_bytes_ = 0;
};

}  // namespace

void Properties::Set(const std::string& key, std::string value, std::string origin) {
  Set(key, Property{std::move(value), std::move(origin)});
}

void Properties::Set(const std::string& key, Property property) { values_[key] = std::move(property); }

void Properties::Merge(const Properties& later) {
  for (const auto& [key, property] : later.all()) {
    const Property* present = Find(key);
    if (!present || !present->is_final) Set(key, property);
  }
  warnings_.insert(warnings_.end(), later.warnings_.begin(), later.warnings_.end());
}

const Property* Properties::Find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool Properties::Has(std::string_view key) const {
  const Property* property = Find(key);
  return property && !Trim(property->value).empty();
}

Result<Properties> ExpandVariables(const Properties& properties) { return Expander(properties).ExpandAll(); }

}  // namespace tony
