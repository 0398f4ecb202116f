// The resources of this machine that jobs may use.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/ledger/ledger.h"

namespace tony {

// Detects the resources of the machine. The memory is all memory, or the lowest limit of the cgroups (v1, v2) of this
// process. The cores are those on which this process may run. The GPUs are the devices /dev/nvidia<n>, numbered from 0
// as CUDA numbers the visible GPUs in the order of the PCI bus. The driver lists their names in /proc. `root` is the
// folder with /proc, /sys and /dev.
Machine DetectMachine(const std::filesystem::path& root = "/");

// The content of machine.json.
struct StatedMachine {
  Machine machine;
  // A warning for each unknown field of machine.json, and for each named user who does not exist on this machine.
  std::vector<std::string> warnings;
};

// Parses machine.json, in which the owner of the machine limits what jobs and users may have:
//   {"memory_mb": 16000, "gpus": [0, 1], "user_limits": {"memory_mb": 8000, "gpus": 1, "run_minutes": 1440},
//    "users": {"alice": {"memory_mb": 12000}}}
// "gpus" may also have names: GPU-<uuid>, or MIG-<uuid> for the parts of a GPU, as `nvidia-smi -L` prints them. A name
// that was not detected gets a number above those that were.
// Missing fields are taken from `detected`. kInvalid names the field that is wrong.
Result<StatedMachine> MachineFromJson(std::string_view json, Machine detected);

}  // namespace tony
