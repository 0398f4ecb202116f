// What this machine has for jobs.
#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/scheduler/local/ledger.h"

namespace tony {

// Memory: all of it, or the least limit of the cgroups (v1, v2) that we are in. Cores: those we may run on. GPUs: one
// for each /dev/nvidia<n>, numbered from 0 as CUDA numbers those it sees. `root`: where /proc, /sys and /dev are.
Machine DetectMachine(const std::filesystem::path& root = "/");

// machine.json, by which the owner of the machine says what jobs may have of it: {"memory_mb": N, "gpus": [0, 1]}.
// What it does not say is taken from `detected`. kInvalid names the field.
Result<Machine> MachineFromJson(std::string_view json, Machine detected);

}  // namespace tony
