// The jobs of one user on YARN: records in HDFS, ids of the ResourceManager.
#pragma once

#include <utility>

#include "runtime/records/job_store.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

class YarnJobs : public JobStore {
 public:
  // `files`: of the job that is to be made; a job that is there is found by its id, and all are listed where no job is
  // named (yarn_configured.h). Errors, beside JobStore's: FindYarnCluster()'s.
  explicit YarnJobs(SiteFiles files) : files_(std::move(files)) {}

  Result<JobId> NewId(Instant now) const override;  // reserved by the ResourceManager
  // Sends what was staged here, and writes all records but submission.json: without it there is no job.
  Result<NewJob> Lay(NewJob job, Instant now, const StageWatch& watch) const override;
  void DiscardLaid(const NewJob& job) const override;
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  Result<RecordsByName> LayRecords(const YarnCluster& cluster, const NewJob& job, Instant now,
                                   const StageWatch& watch) const;

  const SiteFiles files_;
};

}  // namespace tony
