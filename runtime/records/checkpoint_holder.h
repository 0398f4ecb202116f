// Which job has a checkpoint folder: two that wrote into one at a time could not tell whose a checkpoint is. Seam:
// LocalCheckpointHolders, and RecordCheckpointHolders where machines share no disk.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/records/record_store.h"

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

// Which job has a checkpoint folder, where the user's machines share no disk and no lock: in records.
//
//   checkpoint-folders/<SHA-256 of the folder's name>.1.json    the first job that had it
//   checkpoint-folders/<SHA-256 of the folder's name>.2.json    the next; the highest counts
//
// Whoever has read number n writes number n + 1, which only one can do. Records go all at once, lowest first, when the
// job of the highest is gone; who has written n + 1 meanwhile looks whether it is the highest, and takes it back if
// not.

class RecordCheckpointHolders : public CheckpointHolders {
 public:
  using HasEnded = std::function<Result<bool>(const JobId& job)>;

  RecordCheckpointHolders(std::shared_ptr<const RecordStore> store, HasEnded has_ended)
      : store_(std::move(store)), has_ended_(std::move(has_ended)) {}

  Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const override;
  Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const override;
  // Forgets the folders whose jobs are gone. `is_there`: of a job.
  Status Sweep(const std::function<Result<bool>(const JobId& job)>& is_there) const;

 private:
  struct Newest {
    int64_t number = 0;  // 0: there is none
    std::optional<CheckpointHolder> holder;
  };
  Result<std::map<std::string, std::map<int64_t, std::string>>> List()
      const;  // names of records, by SHA-256 and number
  Result<Newest> FindNewest(const std::string& folder) const;
  Result<std::optional<CheckpointHolder>> Read(const std::string& name) const;
  Result<bool> Write(const std::string& folder, int64_t number, const CheckpointHolder& holder) const;

  const std::shared_ptr<const RecordStore> store_;
  const HasEnded has_ended_;
};

}  // namespace tony
