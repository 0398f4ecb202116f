// Which GPUs of a job a container gets, and how its processes are told. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tony::keeper {

// `count` of `all` that are not among `taken`, the lowest first. Nothing: too few are left.
std::optional<std::vector<int>> PickGpus(const std::vector<int>& all, const std::vector<int>& taken, int count);

// What a container's processes start with. `machine_has_gpus`: one that got none must not see those of others, which
// CUDA would show to whoever says nothing.
std::vector<std::string> GpuEnvironment(const std::vector<int>& gpus, bool machine_has_gpus);

std::string NumberList(const std::vector<int>& numbers);  // "0,3"

}  // namespace tony::keeper
