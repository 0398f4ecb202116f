// Texts about a process that blocks others. They name the process, its user and its state, and say what can be done.
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

// Describes a process and its state, e.g. "process 1234 (python3) of alice, stopped (state T)"; empty if the process
// does not exist.
std::string DescribeWithState(pid_t pid);

// Returns why SIGKILL by this user does not end the process: another user owns it, or the kernel holds it. Empty:
// neither is true, or the process has exited.
std::string WhyKillFails(pid_t pid);

// Names the process of the job that most likely blocks a client, e.g. "process 1234 (sleep) of root cannot be ended by
// alice: ...". A keeper (supervisor) or an AM that works normally is not named. Empty: no process of the job seems to
// block. Reads all of /proc.
std::string DescribeBlocker(const JobRecords& records);

// Checks whether the keeper of a job responds. While a keeper is stopped, frozen or hanging, it keeps its lock and the
// job's reservation in the ledger, so no other keeper can start. The AM or a waiting client kills such a keeper, just
// as a keeper kills an AM that hangs. The next keeper starts when the kernel has ended the old keeper and released its
// lock.

// A KeeperPulse is used by one thread, and its calls do not block.
class KeeperPulse {
 public:
  static constexpr Duration kWorthSaying{5000};
  static constexpr Duration kLongestSilence{30'000};  // equal to AmOptions::silence

  explicit KeeperPulse(JobRecords records) : records_(std::move(records)) {}
  // Returns how long the keeper has not responded; zero: it has responded, or does not listen. Call this about once a
  // second. A gap of more than three seconds between two calls means that the caller itself was stopped, so the
  // measurement restarts.
  Duration Silence(Instant now);

 private:
  bool HasAnswered();

  const JobRecords records_;
  // A connection on which no message is sent. A keeper that responds closes the connection.
  UniqueFd question_;
  std::optional<Instant> asked_;
  Instant looked_{};
};

// Returns the processes named tony-keeper that have the job's keeper.lock open. Only the keeper that holds the lock
// keeps the file open for long. A copy of the keeper that writes records (StartCopy) is included until it has closed
// its descriptors.
std::vector<pid_t> KeepersOf(const JobRecords& records);
// Sends SIGKILL to the processes that KeepersOf() returns.
void EndKeeper(const JobRecords& records);

}  // namespace tony
