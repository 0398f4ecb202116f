// Starts the keeper of a job, which starts the AM.
#pragma once

#include <optional>

#include "runtime/backend/am_launcher.h"
#include "runtime/keeper/keeper_pulse.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/os/process_runner.h"

namespace tony {

// The keeper runs detached, with the environment that was stored with the job, wherever this is called from: it lives
// on when the caller ends, by whatever signal to its terminal or group. A second keeper of one job leaves at once. It
// is the keeper of the programs that the job was submitted with, and so are all that it starts; a job of an earlier
// release names none, and gets the keeper beside the caller.
class LocalAmLauncher : public AmLauncher {
 public:
  explicit LocalAmLauncher(ProcessRunner& runner) : runner_(runner) {}
  Result<bool> Start(const JobRecords& records) override;
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  std::string WhyItEnds(const JobRecords& records) const override;
  Pulse LookAfter(const JobRecords& records) override;  // of one job
  std::string WhoKeepsWaiting(const JobRecords& records) const override;

 private:
  ProcessRunner& runner_;
  const LocalArbiter arbiter_;
  std::optional<KeeperPulse> pulse_;
  Instant silent_since_{};  // as it was said; the epoch: it was not
  bool ended_ = false;      // a keeper was, and none has answered since
};

}  // namespace tony
