// A record store like that of a cluster: each call takes a while, answers to writes get lost, changes are not reported,
// and a master that was replaced cannot write. While a job's folder has a file `away`, no call of a client is answered.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/records/job_records.h"
#include "runtime/records/record_store.h"

namespace tony::cluster {

// Returns the newest epoch whose master may no longer write; 0: none.
int64_t SealedEpoch(const std::filesystem::path& job_folder);
Status Seal(const std::filesystem::path& job_folder, int64_t epoch);

class FlakyStore : public RecordStore {
 public:
  // `epoch` is the epoch of the master that writes; 0: the writer is not a master.
  explicit FlakyStore(std::filesystem::path folder, int64_t epoch = 0);
  Result<std::optional<StoredRecord>> Get(const std::string& name) const override;
  Result<bool> PutNew(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Replace(const std::string& name, std::string_view bytes, Durability durability) const override;
  Status Remove(const std::string& name) const override;
  Result<std::vector<std::string>> List(const std::string& folder) const override;
  Result<std::unique_ptr<EventLoop::Handle>> Watch(EventLoop&, EventLoop::Callback) const override {
    return std::unique_ptr<EventLoop::Handle>();
  }
  std::string PlaceOf(const std::string& name) const override { return inner_.PlaceOf(name); }

 private:
  Status Reach() const;
  Status MayWrite(const std::string& name) const;
  Status Heard(const Status& done, const std::string& name) const;

  const std::filesystem::path folder_;
  const int64_t epoch_;
  const LocalRecordStore inner_;
  mutable std::atomic<int> writes_ = 0;
};

JobRecords FlakyRecords(const std::filesystem::path& job_folder, int64_t epoch = 0);

}  // namespace tony::cluster
