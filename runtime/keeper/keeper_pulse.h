// Texts about a process that blocks others: which process, of which user, in which state, and what can be done.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns e.g. "process 1234 (python3) of alice, stopped (state T)"; empty if the process does not exist.
std::string DescribeWithState(pid_t pid);

// Returns why SIGKILL by this user does not end the process: another user owns it, or the kernel holds it. Empty:
// neither is true, or the process has exited.
std::string WhyKillFails(pid_t pid);

// Names the process of the job that most likely blocks a client, e.g. "process 1234 (sleep) of root cannot be ended by
// alice: ...". A keeper (supervisor) or an AM in good order is not named. Empty: no process of the job is visible.
// Reads all of /proc.
std::string DescribeBlocker(const JobRecords& records);

// Checks whether the keeper of a job responds. A keeper that is stopped, frozen or hanging keeps its lock and the job's
// reservation in the ledger. No other keeper can start then. The AM or a waiting client kills it, as a keeper kills an
// AM that hangs. The next keeper starts when the kernel has ended the old one and released its lock.

// Used by one thread; calls do not block.
class KeeperPulse {
 public:
  static constexpr Duration kWorthSaying{5000};
  static constexpr Duration kLongestSilence{30'000};  // like AmOptions::silence for an AM

  explicit KeeperPulse(JobRecords records) : records_(std::move(records)) {}
  // Returns how long the keeper has not responded; zero: it has responded, or does not listen. Call it about once a
  // second. After a longer gap the caller itself was stopped, and the measurement restarts.
  Duration Silence(Instant now);

 private:
  bool HasAnswered();

  const JobRecords records_;
  // A connection that sends no message. Each keeper that responds closes it.
  UniqueFd question_;
  std::optional<Instant> asked_;
  Instant looked_{};
};

// Returns the processes named tony-keeper that have the job's keeper.lock open; only the keeper that holds the lock
// keeps it open for long. A copy of the keeper that writes records (WriteInChildProcess) is one of them.
std::vector<pid_t> KeepersOf(const JobRecords& records);
// Sends SIGKILL to the processes that KeepersOf() returns.
void EndKeeper(const JobRecords& records);

}  // namespace tony
