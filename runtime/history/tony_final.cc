#include "runtime/history/tony_final.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {

std::string TonyFinalXml(const Configuration& configuration, const JobSpec& spec, const JobId& job) {
  Configuration final;
  for (const ConfiguredValue& value : configuration) {
    if (value.key.starts_with("tony.")) final.push_back(value);
  }
  const auto add = [&](const std::string& key, const std::string& value) {
    if (std::ranges::find(final, key, &ConfiguredValue::key) == final.end()) final.push_back({key, value, "job spec"});
  };
  for (const RoleSpec& role : spec.roles) {
    const std::string prefix = StrCat("tony.", role.name, ".");
    add(prefix + "gpus", StrCat(role.resources.gpus));
    add(prefix + "instances", StrCat(role.instances));
    add(prefix + "memory", StrCat(role.resources.memory_mb, "m"));
    add(prefix + "vcores", StrCat(role.resources.vcores));
  }
  add("tony.job.id", job.value);
  std::ranges::sort(final, {}, &ConfiguredValue::key);
  return ToHadoopXml(final);
}

}  // namespace tony
