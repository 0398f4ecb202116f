// Which of the files that the user's program left is its newest checkpoint, and what was there before the job. All of
// it may block as long as the file system does: not on a loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_folder.h"

namespace tony {

// The last whole number in a name: "ckpt-0007.npz" 7, "epoch=2-val_loss=0.50" 2; the digit of .h5 and its like does not
// count. -1 if there is none or it is beyond int64_t.
int64_t StepOf(std::string_view name);

// Whether an entry of that name may be a checkpoint: UTF-8, matched by the shell pattern, which has to name a leading
// dot itself, and without a word "tmp" or "temp" unless the pattern has it too: it is still being written.
bool IsCheckpointName(const std::string& name, const std::string& pattern);

// A record of the journal has room for so many names.
inline constexpr size_t kMostCheckpoints = 10'000;

// All checkpoints that are there, sorted by name; `unknown` says why they could not be listed. Only files and folders
// directly in the directory, no links. None if there is no directory yet.
CheckpointListing ListCheckpoints(const CheckpointFolder& place, const CheckpointSpec& spec);

// The newest that the job may resume from, with who wrote it: what `listing` says is others' only where the job asks
// for it. Nothing if there is none; kNotPermitted or kUnavailable if it cannot be told: the directory cannot be read,
// is another one than was listed, or the listing does not say whose its checkpoints are.
//
// Logs, scripts and event files are not checkpoints, unless the pattern has their ending. Text files with a number,
// empty files, pointers (`latest`) and folders with unfinished files are, where there is nothing better. One that
// changes within `settle`, which is waited for, is still being written, and the next one is taken.
Result<std::optional<Checkpoint>> NewestCheckpoint(const CheckpointFolder& place, const CheckpointSpec& spec,
                                                   const CheckpointListing& listing, Duration settle = Duration(0));

}  // namespace tony
