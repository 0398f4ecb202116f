// Records which job holds a checkpoint folder: if two jobs wrote into one folder at a time, they could not know which
// job wrote a checkpoint. Interface, implemented by LocalCheckpointHolders, and by RecordCheckpointHolders for machines
// that share no disk.
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
  std::optional<JobId> before;  // the holder before `job`
  bool operator==(const CheckpointHolder&) const = default;
};

std::string ToJson(const CheckpointHolder& holder, const std::string& folder);
Result<CheckpointHolder> CheckpointHolderFromJson(std::string_view text);

// The holders are shared by all jobs of one user under one scheduler. Thread-safe.
class CheckpointHolders {
 public:
  virtual ~CheckpointHolders() = default;
  // `folder` has its links resolved. `job` holds it from now on, unless another job holds it that has not ended; then
  // that holder is returned. A repeated call returns the same. kCannotWrite.
  virtual Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const = 0;
  virtual Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const = 0;
};

// Keeps a small file for each folder: $TONY_HOME/checkpoint-folders/<SHA-256 of its path>.
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

// Forgets the folders whose jobs were removed.
Status SweepCheckpointHolders(const std::filesystem::path& home);

// The holders of checkpoint folders if the user's machines share neither a disk nor a lock: kept in records.
//
//   checkpoint-folders/<SHA-256 of the folder's name>.1.json    the first job that held it
//   checkpoint-folders/<SHA-256 of the folder's name>.2.json    the next one; the highest number counts
//
// A job that has read number n writes number n + 1, which only one job can do. All records of a folder are removed at
// once, lowest first, after the job of the highest was removed. A job that has written n + 1 meanwhile checks whether
// its record is the highest, and takes it back if not.

class RecordCheckpointHolders : public CheckpointHolders {
 public:
  using HasEnded = std::function<Result<bool>(const JobId& job)>;

  RecordCheckpointHolders(std::shared_ptr<const RecordStore> store, HasEnded has_ended)
      : store_(std::move(store)), has_ended_(std::move(has_ended)) {}

  Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const override;
  Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const override;
  // Forgets the folders whose jobs were removed. `is_there` returns whether a job still exists.
  Status Sweep(const std::function<Result<bool>(const JobId& job)>& is_there) const;

 private:
  struct Newest {
    int64_t number = 0;  // 0: the folder has no record
    std::optional<CheckpointHolder> holder;
  };
  // Returns the names of the records by SHA-256 and number.
  Result<std::map<std::string, std::map<int64_t, std::string>>> List() const;
  Result<Newest> FindNewest(const std::string& folder) const;
  Result<std::optional<CheckpointHolder>> Read(const std::string& name) const;
  Result<bool> Write(const std::string& folder, int64_t number, const CheckpointHolder& holder) const;

  const std::shared_ptr<const RecordStore> store_;
  const HasEnded has_ended_;
};

}  // namespace tony
