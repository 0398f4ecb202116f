#include "runtime/config/configuration.h"

#include <algorithm>
#include <array>

#include "runtime/base/strings.h"
#include "runtime/config/keys.h"

namespace tony {
namespace {

constexpr std::string_view kRolePrefix = "tony.<role>";
constexpr std::string_view kInstances = ".instances";
// The whole value of main.args is masked, because it may contain secret variables. The mask hides no other value,
// because the values that main.args sets are also listed under their own keys.
constexpr std::string_view kMainArgs = "main.args";
constexpr std::string_view kVariableLists[] = {"shell_env", "tony.containers.envs", "tony.execution.envs"};

// Masks secrets in NAME=VALUE pairs, which commas separate. A piece without "=" may be the rest of the value before
// it, so it is masked like that value.
std::string MaskVariables(std::string_view list) {
  std::vector<std::string> items = Split(list, ',');
  bool is_secret = false;
  for (std::string& item : items) {
    const size_t sign = item.find('=');
    if (sign != item.npos) is_secret = IsSecretName(item.substr(0, sign));
    if (is_secret) item.replace(sign == item.npos ? 0 : sign + 1, item.npos, kMask);
  }
  return Join(items, ",");
}

// Returns the key prefix of each role with at least one instance, e.g. "tony.worker".
std::vector<std::string> RolePrefixes(const Properties& properties) {
  std::vector<std::string> prefixes;
  for (const auto& [key, property] : properties.all()) {
    const Key* row = key.ends_with(kInstances) ? FindKey(key) : nullptr;
    if (!row || !row->name.starts_with(kRolePrefix) || ParseInt(Trim(property.value)).value_or(0) <= 0) continue;
    prefixes.push_back(key.substr(0, key.size() - kInstances.size()));
  }
  return prefixes;
}

std::vector<std::string> KeysOf(const Key& row, const std::vector<std::string>& role_prefixes) {
  if (row.name.find('<') == row.name.npos) return {std::string(row.name)};
  std::vector<std::string> keys;
  if (!row.name.starts_with(kRolePrefix)) return keys;
  for (const std::string& prefix : role_prefixes) keys.push_back(StrCat(prefix, row.name.substr(kRolePrefix.size())));
  return keys;
}

}  // namespace

Configuration EffectiveConfiguration(const Properties& properties) {
  Configuration configuration;
  for (const auto& [key, property] : properties.all())
    configuration.push_back({key, MaskedValue(key, property.value), property.origin});
  const Property* asked = properties.Find("tony.scheduler");
  const std::string scheduler = asked ? ToLower(Trim(asked->value)) : "local";
  const std::vector<std::string> role_prefixes = RolePrefixes(properties);
  for (const Key& row : AllKeys()) {
    if (!WhyNoEffect(row, scheduler).empty() || row.default_value.empty()) continue;
    for (const std::string& key : KeysOf(row, role_prefixes)) {
      if (!properties.Find(key))
        configuration.push_back({key, std::string(row.default_value), std::string(kDefaultSource)});
    }
  }
  std::ranges::sort(configuration, {}, &ConfiguredValue::key);
  return configuration;
}

std::string MaskedValue(std::string_view key, std::string_view value) {
  if (std::ranges::find(kVariableLists, key) != std::end(kVariableLists)) return MaskVariables(value);
  if (key == kMainArgs) return std::string(value.empty() ? "" : kMask);
  const Key* row = FindKey(key);
  const bool is_free = !row || row->name.ends_with("<NAME>") || row->name.ends_with("<CODE>");
  const bool is_secret = is_free ? IsSecretName(key) : row->secrecy == KeySecrecy::kSecret;
  return std::string(is_secret ? kMask : value);
}

bool IsSecretName(std::string_view name) {
  constexpr std::array<std::string_view, 4> kWords = {"password", "secret", "token", "key"};
  const std::string lower = ToLower(name);
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

}  // namespace tony
