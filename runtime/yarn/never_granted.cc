#include "runtime/yarn/never_granted.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/dependencies.h"

namespace tony {
namespace {

struct Refusal {
  const char* key;  // that asks for too much
  std::string why;
};

std::optional<Refusal> RefusalOf(const Resources& wanted, const ContainerLimits& limits) {
  constexpr std::string_view kMost = ", the most that this cluster gives a container";
  const hadoop::Resource& most = limits.maximum;
  if (wanted.memory_mb > most.memory_mib)
    return Refusal{"memory", StrCat(wanted.memory_mb, " MB of memory is above ", most.memory_mib, " MB", kMost)};
  if (wanted.vcores > most.vcores)
    return Refusal{"vcores", StrCat(Counted(wanted.vcores, "vcore"), " is above ", most.vcores, kMost)};
  if (wanted.gpus == 0) return std::nullopt;
  const auto gpus = most.others.find(kGpuType);
  if (gpus == most.others.end() && std::ranges::count(limits.types, kGpuType) == 0)
    return Refusal{"gpus", StrCat("this cluster has no resource of the type ", kGpuType)};
  if (gpus != most.others.end() && wanted.gpus > gpus->second)
    return Refusal{"gpus", StrCat(Counted(wanted.gpus, "GPU"), " is above ", gpus->second, kMost)};
  return std::nullopt;
}

}  // namespace

hadoop::Resource ToYarn(const Resources& resources) {
  hadoop::Resource out{resources.memory_mb, resources.vcores, {}};
  if (resources.gpus > 0) out.others[kGpuType] = resources.gpus;
  return out;
}

std::optional<std::string> WhyNeverGranted(const Resources& wanted, const ContainerLimits& limits) {
  const auto refusal = RefusalOf(wanted, limits);
  return refusal ? std::optional(refusal->why) : std::nullopt;
}

std::optional<std::string> WhyNeverGranted(const JobSpec& spec, const ContainerLimits& limits) {
  for (const RoleSpec& role : spec.roles) {
    if (const auto refusal = RefusalOf(role.resources, limits))
      return StrCat(role.Key(refusal->key), ": ", refusal->why);
  }
  return std::nullopt;
}

std::optional<std::string> WhyTooManyGpus(const JobSpec& spec, const std::vector<hadoop::NodeReport>& nodes) {
  int64_t there = 0;
  const int64_t asked =
      MostAtOnce(spec, [](const RoleSpec& role) { return int64_t{role.instances} * role.resources.gpus; });
  for (const hadoop::NodeReport& node : nodes) {
    const auto gpus = node.capability.others.find(kGpuType);
    if (gpus != node.capability.others.end()) there += gpus->second;
  }
  if (spec.mode != DistributedMode::kGang || asked <= there) return std::nullopt;
  return StrCat("the tasks start together and ask for ", Counted(asked, "GPU"), "; the nodes that run have ", there,
                ": the job waits until there are more");
}

}  // namespace tony
