// What this machine has for jobs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/ledger/ledger.h"

namespace tony {

// Memory: all of it, or the least limit of the cgroups (v1, v2) that we are in. Cores: those we may run on. GPUs: one
// for each /dev/nvidia<n>, numbered from 0 as CUDA numbers those it sees. `root`: where /proc, /sys and /dev are.
Machine DetectMachine(const std::filesystem::path& root = "/");

// What machine.json says.
struct StatedMachine {
  Machine machine;
  std::vector<std::string> warnings;  // what of it has no effect: fields and users that nobody knows
};

// machine.json, by which the owner of the machine says what jobs may have of it, and what each user:
//   {"memory_mb": 16000, "gpus": [0, 1], "user_limits": {"memory_mb": 8000, "gpus": 1, "run_minutes": 1440},
//    "users": {"alice": {"memory_mb": 12000}}}
// What it does not say is taken from `detected`. kInvalid names the field that is wrong.
Result<StatedMachine> MachineFromJson(std::string_view json, Machine detected);

}  // namespace tony
