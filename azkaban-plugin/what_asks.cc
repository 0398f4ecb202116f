#include "azkaban-plugin/what_asks.h"

#include <algorithm>
#include <vector>

#include "runtime/base/strings.h"

namespace tony::azkaban {
namespace {

constexpr std::string_view kAsk = "the job asks for ";  // as CheckEverFits() begins

// "tony.worker.memory=8g (the step's properties)"; nothing if nobody set it and there is no default.
std::string Told(const Configuration& configuration, const std::string& key) {
  const auto found = std::ranges::find(configuration, key, &ConfiguredValue::key);
  if (found == configuration.end()) return "";
  return StrCat(key, "=", found->value, " (", found->source == "default" ? "TonY's default" : found->source, ")");
}

std::vector<std::string> KeysOf(const RoleSpec& role) {
  std::vector<std::string> keys = {role.Key("instances"), role.Key("memory")};
  if (role.resources.gpus > 0) keys.push_back(role.Key("gpus"));
  return keys;
}

}  // namespace

Error WithWhatAsks(Error refused, const JobSpec& spec, const Configuration& configuration) {
  if (!refused.message.starts_with(kAsk)) return refused;
  std::vector<std::string> told;
  for (const RoleSpec& role : spec.roles)
    for (const std::string& key : KeysOf(role))
      if (std::string text = Told(configuration, key); !text.empty()) told.push_back(std::move(text));
  refused.message += StrCat("; it asks by ", Join(told, ", "));
  return refused;
}

}  // namespace tony::azkaban
