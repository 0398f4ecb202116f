#include "runtime/config/properties.h"

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kMaxDepth = 20;                 // Hadoop's own limit of substitutions
constexpr size_t kMaxExpandedBytes = 32u << 20;  // of all values together: twice the largest file

class Expander {
 public:
  explicit Expander(const Properties& properties) : properties_(properties) {}

  Result<Properties> ExpandAll() {
    Properties out;
    for (const auto& [key, property] : properties_.all()) {
      TRY_ASSIGN(std::string value, Expand(key, property));
      out.Set(key, {std::move(value), property.origin, property.is_final});
    }
    for (const std::string& warning : properties_.warnings()) out.Warn(warning);
    out.SetSecrets(properties_.secrets());
    return out;
  }

 private:
  Result<std::string> Expand(const std::string& key, const Property& property) {
    if (const auto done = done_.find(key); done != done_.end()) return done->second;
    if (active_.size() >= kMaxDepth) return Failure(property, StrCat("${", key, "} is nested more than 20 deep"));
    for (const auto& outer : active_) {
      if (outer == key) return Failure(property, StrCat("${", key, "} refers back to itself"));
    }
    active_.push_back(key);
    TRY_ASSIGN(std::string value, Substitute(property));
    active_.pop_back();
    expanded_bytes_ += value.size();
    if (expanded_bytes_ > kMaxExpandedBytes) return Failure(property, "values grow too large by ${...}");
    done_[key] = value;
    return value;
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
      const Property* target = name.empty() ? nullptr : properties_.Find(name);
      if (target) {
        TRY_ASSIGN(const std::string value, Expand(std::string(name), *target));
        out.append(value);
      }
      const size_t consumed = target ? name.size() + 3 : 2;  // "${name}", or "${" as it stands
      if (!target) out.append(rest.substr(0, consumed));
      rest.remove_prefix(consumed);
      if (out.size() > kMaxExpandedBytes) return Failure(property, "values grow too large by ${...}");
    }
  }

  // What stands between "${" and "}"; empty if it is no name.
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

Result<Properties> ExpandVariables(const Properties& properties) { return Expander(properties).ExpandAll(); }

}  // namespace tony
