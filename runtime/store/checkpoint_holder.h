// Which job has a checkpoint folder: two that wrote into one at a time could not tell whose a checkpoint is. One small
// file for each folder, $TONY_HOME/checkpoint-folders/<SHA-256 of its path>, so it is known to the jobs of one user on
// one machine.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"

namespace tony {

struct CheckpointHolder {
  JobId job;
  std::optional<JobId> before;  // who had it before `job`
  bool operator==(const CheckpointHolder&) const = default;
};

// `folder`: with its links resolved. `job` has it from now on, unless another one has it that has not ended: then that
// one is returned. It may be asked for again, with the same answer. kCannotWrite.
Result<CheckpointHolder> TakeCheckpointFolder(const std::filesystem::path& home, const std::filesystem::path& folder,
                                              const JobId& job);

Result<std::optional<CheckpointHolder>> HolderOf(const std::filesystem::path& home,
                                                 const std::filesystem::path& folder);

// Forgets the folders whose jobs are gone.
Status SweepCheckpointHolders(const std::filesystem::path& home);

}  // namespace tony
