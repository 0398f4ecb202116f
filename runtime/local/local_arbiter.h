// The locks of keeper and AM say who lives, the boot id whether the machine does.
#pragma once

#include "runtime/backend/arbiter.h"

namespace tony {

class LocalArbiter : public Arbiter {
 public:
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  // Sends SIGTERM to the job's keeper, which is found among the processes of this user without any file of the job.
  Result<std::optional<JobStatus>> EndWithoutRecords(const JobId& job, Duration limit) const override;
  std::string WhyItEnds(const JobRecords& records) const override;
};

}  // namespace tony
