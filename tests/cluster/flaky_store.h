// A store of records as a cluster may have: each call takes a while, answers of writes get lost, nobody is told of
// changes, and a master that was replaced writes no more.
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

// The newest epoch whose master writes no more; 0: none is sealed.
int64_t SealedEpoch(const std::filesystem::path& job_folder);
Status Seal(const std::filesystem::path& job_folder, int64_t epoch);

class FlakyStore : public RecordStore {
 public:
  // `epoch`: of the master that writes; 0: somebody else does.
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
  Status MayWrite(const std::string& name) const;
  Status Heard(const Status& done, const std::string& name) const;

  const std::filesystem::path folder_;
  const int64_t epoch_;
  const LocalRecordStore inner_;
  mutable std::atomic<int> writes_ = 0;
};

JobRecords FlakyRecords(const std::filesystem::path& job_folder, int64_t epoch = 0);

}  // namespace tony::cluster
