// What the processes of a job start with, and the marks by which they are found again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/ids.h"

namespace tony {

inline constexpr std::string_view kJobMark = "TONY_JOB_ID";           // of all below the keeper: the job
inline constexpr std::string_view kContainerMark = "TONY_CONTAINER";  // of executors and theirs: job/container
inline constexpr std::string_view kAmMark = "TONY_AM";                // of AMs: the job

inline constexpr std::string_view kVisibleGpus = "CUDA_VISIBLE_DEVICES";

std::optional<std::string> VariableOf(const std::vector<std::string>& environment, std::string_view name);

std::string ContainerMark(const JobId& job, const ContainerId& container);  // the value: "local-...-4f2a9c/1-3"

// `above` over `below`: where both set a variable, it wins.
std::vector<std::string> OverEnvironment(const std::vector<std::string>& below, const std::vector<std::string>& above);
// Without the marks: a job may have been submitted by a task of another.
std::vector<std::string> WithoutMarks(const std::vector<std::string>& environment);

}  // namespace tony
