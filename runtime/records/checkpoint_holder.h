// Records which job uses a checkpoint folder: the holder of the folder. If two jobs wrote into one folder at the same
// time, neither could know which of them wrote a checkpoint. Interface, implemented by LocalCheckpointHolders, and by
// RecordCheckpointHolders for machines that share no disk.
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
  // The holder of the checkpoint folder before `job`.
  std::optional<JobId> before;
  bool operator==(const CheckpointHolder&) const = default;
};

std::string ToJson(const CheckpointHolder& holder, const std::string& folder);
Result<CheckpointHolder> CheckpointHolderFromJson(std::string_view text);

// All jobs of one user under one scheduler share the holders. Thread-safe.
class CheckpointHolders {
 public:
  virtual ~CheckpointHolders() = default;
  // Makes `job` the holder of `folder` and returns this holder. If the folder's holder is another job that has not
  // ended, returns that holder and changes nothing. A repeated call returns the same result. `folder` has its links
  // resolved. kCannotWrite.
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

// Removes the files of folders whose jobs were removed.
Status SweepCheckpointHolders(const std::filesystem::path& home);

// The holders of checkpoint folders, kept in records, for a user whose machines share neither a disk nor a lock.
//
//   checkpoint-folders/<SHA-256 of the folder's name>.1.json    the first job that used the folder
//   checkpoint-folders/<SHA-256 of the folder's name>.2.json    the next one; the highest number counts
//
// A job that has read number n writes number n + 1, and only one job can write that number. After the job of the
// highest record was removed, all records of the folder are removed, lowest number first. Another job may write n + 1
// during this removal. Each job therefore checks after its write that its record is the highest. If another record is
// higher, the job removes its own record again.

class RecordCheckpointHolders : public CheckpointHolders {
 public:
  using HasEnded = std::function<Result<bool>(const JobId& job)>;

  RecordCheckpointHolders(std::shared_ptr<const RecordStore> store, HasEnded has_ended)
      : store_(std::move(store)), has_ended_(std::move(has_ended)) {}

  Result<CheckpointHolder> Take(const std::string& folder, const JobId& job) const override;
  Result<std::optional<CheckpointHolder>> Find(const std::string& folder) const override;
  // Removes the records of folders whose jobs were removed. `is_there` returns whether a job still exists.
  Status Sweep(const std::function<Result<bool>(const JobId& job)>& is_there) const;

 private:
  struct Newest {
    int64_t number = 0;  // 0: no record yet
    std::optional<CheckpointHolder> holder;
  };
  // Returns the names of all records, first by the SHA-256 of the folder's name, then by number.
  Result<std::map<std::string, std::map<int64_t, std::string>>> List() const;
  Result<Newest> FindNewest(const std::string& folder) const;
  Result<std::optional<CheckpointHolder>> Read(const std::string& name) const;
  Result<bool> Write(const std::string& folder, int64_t number, const CheckpointHolder& holder) const;

  const std::shared_ptr<const RecordStore> store_;
  const HasEnded has_ended_;
};

}  // namespace tony
