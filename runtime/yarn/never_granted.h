// What a cluster will never grant, however long a job waits. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/job_spec.h"

namespace tony {

inline constexpr char kGpuType[] = "yarn.io/gpu";

hadoop::Resource ToYarn(const Resources& resources);

// What a cluster gives one container: from NewApplication or Registration.
struct ContainerLimits {
  hadoop::Resource maximum;
  std::vector<std::string> types;  // of resources beside memory and vcores, where `maximum` does not have them
};
// Why no container of this size is ever granted, with both numbers; nothing: one may be. A ResourceManager grants a
// container without what it has no type for, so that is found only here.
std::optional<std::string> WhyNeverGranted(const Resources& wanted, const ContainerLimits& limits);
// The same for the first role that it is true of, by the name of its key: "tony.worker.memory: ...".
std::optional<std::string> WhyNeverGranted(const JobSpec& spec, const ContainerLimits& limits);

// What to tell of a gang that asks for more GPUs than all of these nodes have: it waits until there are more. Nothing:
// they have as many.
std::optional<std::string> WhyTooManyGpus(const JobSpec& spec, const std::vector<hadoop::NodeReport>& nodes);

}  // namespace tony
