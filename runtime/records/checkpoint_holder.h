// Which job has a checkpoint folder: two that wrote into one at a time could not tell whose a checkpoint is. Seam:
// LocalCheckpointHolders, and RecordCheckpointHolders where machines share no disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"

namespace tony {

struct CheckpointHolder {
  JobId job;
  std::optional<JobId> before;  // who had it before `job`
  bool operator==(const CheckpointHolder&) const = default;
};

std::string ToJson(const CheckpointHolder& holder, const std::string& folder);
Result<CheckpointHolder> CheckpointHolderFromJson(std::string_view text);

// Known to the jobs of one user, of one scheduler. Any thread.
class CheckpointHolders {
 public:
  virtual ~CheckpointHolders() = default;
  // `folder`: with its links resolved. `job` has it from now on, unless another one has it that has not ended: then
  // that one is returned. It may be asked for again, with the same answer. kCannotWrite.
  virtual Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const = 0;
  virtual Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const = 0;
};

// One small file for each folder, $TONY_HOME/checkpoint-folders/<SHA-256 of its path>.
class LocalCheckpointHolders : public CheckpointHolders {
 public:
  explicit LocalCheckpointHolders(std::filesystem::path home) : home_(std::move(home)) {}

  Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const override;
  Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const override;

 private:
  const std::filesystem::path home_;
};

Result<CheckpointHolder> TakeCheckpointFolder(const std::filesystem::path& home, const std::filesystem::path& folder,
                                              const JobId& job);

Result<std::optional<CheckpointHolder>> HolderOf(const std::filesystem::path& home,
                                                 const std::filesystem::path& folder);

// Forgets the folders whose jobs are gone.
Status SweepCheckpointHolders(const std::filesystem::path& home);

}  // namespace tony
