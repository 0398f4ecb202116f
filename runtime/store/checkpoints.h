// Which of the files that the user's program left is its newest checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"

namespace tony {

// The last number in a name: "ckpt-0007.npz" 7, "epoch=2-step=100" 100; the digit of .h5 and its like does not count.
// -1 if there is none or it is beyond int64_t.
int64_t StepOf(std::string_view name);

// Whether an entry of that name may be a checkpoint: UTF-8, matched by the shell pattern, which has to name a leading
// dot itself, and without a word "tmp" or "temp" unless the pattern has it too: it is still being written.
bool IsCheckpointName(const std::string& name, const std::string& pattern);

// Only files and folders directly in the directory, no links. Nothing if it has none or is not there; kNotPermitted or
// kUnavailable if it cannot be read. Reads names only, but for those that may win. It may block as long as the file
// system does: not on a loop thread.
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointSpec& spec);

}  // namespace tony
