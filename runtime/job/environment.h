// Environments of the processes of a job, and the variables that mark the processes, so that TonY can find them again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/ids.h"

namespace tony {

// Marks all processes below the keeper (supervisor of one job on one machine) with the job.
inline constexpr std::string_view kJobMark = "TONY_JOB_ID";
// Marks executors and their children with "job/container".
inline constexpr std::string_view kContainerMark = "TONY_CONTAINER";
// Marks application masters (AMs) with the job.
inline constexpr std::string_view kAmMark = "TONY_AM";

inline constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";

std::optional<std::string> VariableOf(const std::vector<std::string>& environment, std::string_view name);

// Returns the value of the variable kContainerMark for a container, e.g. "local-...-4f2a9c/1-3".
std::string ContainerMark(const JobId& job, const ContainerId& container);

// Merges two environments. If both set a variable, the value in `above` counts.
std::vector<std::string> MergeEnvironments(const std::vector<std::string>& below,
                                           const std::vector<std::string>& above);
// Returns the environment without the marks. If a task of another job submitted this job, the environment has the
// marks of that other job.
std::vector<std::string> WithoutMarks(const std::vector<std::string>& environment);

}  // namespace tony
