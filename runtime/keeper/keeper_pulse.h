// Words for a process that keeps others waiting: which one, whose, in what state, and what can be done.
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

// "process 1234 (python3) of alice, stopped (state T)"; "": there is none.
std::string DescribeWithState(pid_t pid);

// The reason why SIGKILL by this user does not end the process: it is another user's, or the kernel holds it. "":
// neither, or it is gone.
std::string WhyItStays(pid_t pid);

// Names the process of the job that most likely keeps a client waiting, except keeper and master in good order:
// "process 1234 (sleep) of root cannot be ended by alice: ...". "": no process of the job can be seen. Reads all of
// /proc.
std::string WhoKeepsWaiting(const JobRecords& records);

// Finds out whether a job's keeper answers. A keeper that is stopped, frozen or hangs holds its lock and its place in
// the ledger, so that no other can begin. The master or a waiting client ends it, as a keeper ends a master that hangs.
// The next keeper begins when the kernel has ended the old one and its lock is free.

// One thread; does not wait.
class KeeperPulse {
 public:
  static constexpr Duration kWorthSaying{5000};
  static constexpr Duration kLongestSilence{30'000};  // as a master's (AmOptions::silence)

  explicit KeeperPulse(JobRecords records) : records_(std::move(records)) {}
  // To be called about once a second; a longer gap means that the caller was stopped, and the time begins anew. How
  // long the keeper has not answered; zero: it has, or nobody listens.
  Duration Silence(Instant now);

 private:
  bool HasAnswered();

  const JobRecords records_;
  UniqueFd question_;  // a connection that says nothing: each keeper closes it
  std::optional<Instant> asked_;
  Instant looked_{};
};

// The keepers that have the job's keeper.lock open, which only the one that holds it does for long. A keeper's copy
// that writes apart is one of them.
std::vector<pid_t> KeepersOf(const JobRecords& records);
// SIGKILL to these.
void EndKeeper(const JobRecords& records);

}  // namespace tony
