// What a TaskRun wants done, in the order given.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "runtime/base/address.h"
#include "runtime/base/time.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

struct UseAm {  // drop the connection there is, use this AM for the calls that follow
  int64_t link = 0;
  Address am;
};
struct SendRegister {
  Caller caller;
  Registration what;
};
struct SendAwait {
  Caller caller;
  int64_t since = 0;  // number of the last command carried out
};
struct SendHeartbeat {
  Caller caller;
  Progress progress;
  Instant sent{};  // comes back with the answer
};
struct SendValues {  // all of them: those that the AM has already are passed over
  Caller caller;
  PublishedValues values;
};
struct SendOutcome {
  Caller caller;
  Outcome outcome;
};
struct ReadLease {};     // answer with LeaseRead or LeaseUnreadable
struct WatchLease {};    // until UnwatchLease, read the record whenever it changes; may be repeated
struct UnwatchLease {};  // may come without a WatchLease
struct BeginAttempt {    // from now on it is this attempt: take its lock. Failed: AttemptNotBegun
  AttemptId attempt;
};
struct StartProcesses {  // all of the attempt
  Generation generation;
  std::string cluster_spec;  // JSON
  std::string resume_from;   // the newest checkpoint; may be empty
};
struct GiveNotice {    // to the program, in $TONY_NOTICE_FILE: it is about to be stopped, and will be killed at
                       // `deadline`
  std::string reason;  // "preempted"
  Instant deadline;
};
struct SignalTree {  // to every process of the task, whole tree; 0: only look. Nothing left: answer with TreeGone,
                     // else, to SIGKILL, with TreeLives
  int signal = 0;
};
struct WarnOfTree {  // tell people that the tree outlives SIGKILL
  std::string what;
};
struct KeepOutcome {  // on disk, before it is reported
  Outcome outcome;
};
struct Leave {  // end the executor; nothing follows
  int exit_code = 0;
};

using Action =
    std::variant<UseAm, SendRegister, SendAwait, SendHeartbeat, SendValues, SendOutcome, ReadLease, WatchLease,
                 UnwatchLease, BeginAttempt, StartProcesses, GiveNotice, SignalTree, WarnOfTree, KeepOutcome, Leave>;

// Exit codes of the executor, after sysexits.h where there is a fitting one.
inline constexpr int kLeftReleased = 0;
inline constexpr int kLeftFolderGone = 66;   // the job's folder was removed
inline constexpr int kLeftOrphaned = 69;     // no AM for orphan_timeout
inline constexpr int kLeftTreeAlive = 71;    // what the task started does not end: its keeper has other means
inline constexpr int kLeftRefused = 76;      // the AM does not know or no longer wants this attempt
inline constexpr int kLeftTerminated = 143;  // SIGTERM

}  // namespace tony::executor
