// What happens to a TaskRun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "executor/lease_sight.h"
#include "runtime/base/endpoint.h"
#include "runtime/base/exit_status.h"
#include "runtime/base/time.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"

namespace tony::executor {

// The executor is up. The first event, once.
struct Begun {};

// Answers of the AM; `link` is that of the UseAm before the call.
struct Registered {
  int64_t link = 0;
  Epoch epoch;
};
struct CommandReceived {
  int64_t link = 0;
  Command command;
};
struct HeartbeatAnswered {
  int64_t link = 0;
  Instant sent{};  // when the heartbeat was
};
struct ValuesAcknowledged {
  int64_t link = 0;
};
struct OutcomeAcknowledged {
  int64_t link = 0;
};
struct Refused {  // any call
  int64_t link = 0;
  RefusalReason reason = RefusalReason::kBadRequest;
};
struct ConnectionLost {  // ended any call, also by its limit
  int64_t link = 0;
  bool crowded = false;  // so many want the AM that its queue was full: it lives, and we are not cut off
};

// Answers to ReadLease; may also come unasked while WatchLease is in force.
struct LeaseRead {
  std::optional<SeenLease> record;  // nothing: no AM has ruled yet
};
struct LeaseUnreadable {};
struct FolderGone {};  // the job's folder was removed

struct AttemptNotBegun {};  // answers BeginAttempt where it failed

// Exactly one of the first two answers StartProcesses for each process, in their order; after a ProcessNotStarted no
// further one is tried. ProcessExited follows once reaped, after all of these answers.
struct ProcessStarted {
  int64_t pid = 0;
  int process = 0;
};
struct ProcessNotStarted {
  Outcome outcome;
  int process = 0;
};
struct ProcessExited {
  ExitStatus exit;
  std::string stderr_tail;
  std::optional<Outcome> judged;  // what all that was seen means; nothing: what the exit status alone means
  int process = 0;
};
// No process of the task is left, living or dead: the kernel says that we have no child. Answers a SignalTree, and
// comes by itself while the attempt is being ended.
struct TreeGone {};
// Answers a SignalTree with SIGKILL after which something is left.
struct TreeLives {
  std::string what;        // "2 processes, process 4711 for one"
  bool in_kernel = false;  // all of it: nobody can end it before the kernel lets go of it
};

// What the attempt has used so far. Before TreeGone: all that it used.
struct UsageMeasured {
  Usage usage;
};

// What the program has published so far. Between ProcessStarted and TreeGone; once more before each ProcessExited.
struct ValuesSeen {
  PublishedValues values;
};

struct TermSignal {};  // the keeper or NodeManager wants this executor gone
struct Tick {};        // NextDeadline() has passed

using Event =
    std::variant<Begun, Registered, CommandReceived, HeartbeatAnswered, ValuesAcknowledged, OutcomeAcknowledged,
                 Refused, ConnectionLost, LeaseRead, LeaseUnreadable, FolderGone, AttemptNotBegun, ProcessStarted,
                 ProcessNotStarted, ProcessExited, TreeGone, TreeLives, UsageMeasured, ValuesSeen, TermSignal, Tick>;

// What a TaskRun wants done, in the order given.

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
