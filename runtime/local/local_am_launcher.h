// Starts the keeper (supervisor) of a job, which starts the AM.
#pragma once

#include <optional>

#include "runtime/backend/am_launcher.h"
#include "runtime/keeper/keeper_pulse.h"
#include "runtime/local/local_arbiter.h"
#include "runtime/os/process_runner.h"

namespace tony {

// Starts keepers of jobs. A keeper runs detached, with the environment that was stored with the job. The keeper
// survives the exit of the caller, and every signal to the caller's terminal or process group. A second keeper of a job
// exits at once. The keeper and all programs that it starts are the ones that the job was submitted with. A job of an
// earlier release has no programs of its own, and gets the keeper from the folder of the calling program.
class LocalAmLauncher : public AmLauncher {
 public:
  explicit LocalAmLauncher(ProcessRunner& runner) : runner_(runner) {}
  Result<bool> Start(const JobRecords& records) override;
  ArbiterView Look(const JobRecords& records) const override;
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords& records) const override;
  Status Settle(const JobRecords& records) const override;
  std::string KeeperFailureHint(const JobRecords& records) const override;
  // The caller must pass the same job to each call, because the launcher stores the silence of only one keeper.
  Pulse LookAfter(const JobRecords& records) override;
  std::string DescribeBlocker(const JobRecords& records) const override;

 private:
  ProcessRunner& runner_;
  const LocalArbiter arbiter_;
  std::optional<KeeperPulse> pulse_;
  // The start of the silence that was already reported; the zero Instant if none was reported.
  Instant silent_since_{};
  // True if a keeper that did not respond was killed, and no keeper has responded since.
  bool ended_ = false;
};

}  // namespace tony
