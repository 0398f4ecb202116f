// The jobs of one user on YARN: records in HDFS, ids of the ResourceManager.
#pragma once

#include <utility>

#include "runtime/scheduler/yarn/yarn_cluster.h"
#include "runtime/store/job_store.h"

namespace tony {

class YarnJobs : public JobStore {
 public:
  explicit YarnJobs(YarnCluster cluster) : cluster_(std::move(cluster)) {}

  Result<JobId> NewId(Instant now) const override;  // reserved by the ResourceManager
  // Sends what was staged here. submission.json is written last: without it there is no job.
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  const YarnCluster cluster_;
};

}  // namespace tony
