// The jobs of one user on this machine.
#pragma once

#include <filesystem>
#include <vector>

#include "runtime/records/job_store.h"

namespace tony {

// A new id of a job of this machine: "local-20261121-093015-4f2a9c".
JobId NewJobId(Instant now);

// On this machine: the folders in $TONY_HOME/jobs. A new one gets its name when it is whole. The file `finished` tells
// without a look at a status which have ended.
class LocalJobStore : public JobStore {
 public:
  explicit LocalJobStore(std::filesystem::path home) : home_(std::move(home)) {}

  Result<JobId> NewId(Instant now) const override { return NewJobId(now); }
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  std::filesystem::path home_;
};

}  // namespace tony
