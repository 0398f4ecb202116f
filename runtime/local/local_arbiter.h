// The arbiter of local jobs. The locks of keeper (supervisor) and AM show which of them live, and the boot id shows
// whether the machine was restarted.
#pragma once

#include "runtime/backend/arbiter.h"

namespace tony {

class LocalArbiter : public Arbiter {
 public:
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  // Sends SIGTERM to the job's keeper. The keeper is found in the list of this user's processes, without any file of
  // the job.
  Result<std::optional<JobStatus>> EndWithoutRecords(const JobId& job, const std::string& reason,
                                                     Duration limit) const override;
  std::string KeeperFailureHint(const JobRecords& records) const override;
};

}  // namespace tony
