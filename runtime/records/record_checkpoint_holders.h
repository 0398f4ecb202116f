// Which job has a checkpoint folder, where the user's machines share no disk and no lock: in records.
//
//   checkpoint-folders/<SHA-256 of the folder's name>.1.json    the first job that had it
//   checkpoint-folders/<SHA-256 of the folder's name>.2.json    the next; the highest counts
//
// Whoever has read number n writes number n + 1, which only one can do. Records go all at once, lowest first, when the
// job of the highest is gone; who has written n + 1 meanwhile looks whether it is the highest, and takes it back if
// not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/record_store.h"

namespace tony {

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
