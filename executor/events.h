// The events that a TaskRun receives, and the actions that it returns.
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

// The executor has started. This event is the first, and occurs once.
struct Begun {};

// Registered and the events below, up to ConnectionLost, are results of calls to the AM. `link` is the number of the
// last UseAm action before the call.
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
  Instant sent{};  // sending time of the heartbeat
};
struct ValuesAcknowledged {
  int64_t link = 0;
};
struct OutcomeAcknowledged {
  int64_t link = 0;
};
// The AM refused a call of any kind.
struct Refused {
  int64_t link = 0;
  RefusalReason reason = RefusalReason::kBadRequest;
};
// The connection was lost during a call of any kind, or the call reached its time limit.
struct ConnectionLost {
  int64_t link = 0;
  // True if the AM's request queue was full. The AM is alive in this case, and the executor is not cut off.
  bool crowded = false;
};

// LeaseRead, LeaseUnreadable and FolderGone answer ReadLease. While WatchLease is in force, they may also occur without
// a ReadLease.
struct LeaseRead {
  std::optional<SeenLease> record;  // nullopt: no AM has started yet
};
struct LeaseUnreadable {};
struct FolderGone {};  // the job's folder was removed

struct AttemptNotBegun {};  // BeginAttempt has failed

// For each process of a StartProcesses action, one ProcessStarted or ProcessNotStarted follows, in the order of the
// processes. After a ProcessNotStarted, no further process is started. ProcessExited follows later, when the process
// has been reaped.
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
  // The outcome judged from all evidence. nullopt: the exit status alone determines the outcome.
  std::optional<Outcome> judged;
  int process = 0;
};
// No process of the task is left, neither running nor zombie: the kernel reports that the executor has no child.
// TreeGone answers a SignalTree. While the attempt is being ended, TreeGone also occurs without a SignalTree.
struct TreeGone {};
// Some processes have survived a SignalTree with SIGKILL.
struct TreeSurvived {
  // A description of the surviving processes for people, e.g. "2 processes, e.g. process 4711".
  std::string what;
  // True if all surviving processes are blocked in the kernel. They cannot end before the kernel releases them.
  bool uninterruptible = false;
};

// The resource usage of the attempt so far. The last UsageMeasured before TreeGone contains the total usage.
struct UsageMeasured {
  Usage usage;
};

// The values that the program has published so far. The event occurs between ProcessStarted and TreeGone. The program's
// file is read a last time before each ProcessExited.
struct ValuesSeen {
  PublishedValues values;
};

// SIGTERM, SIGINT or SIGHUP: the keeper (the supervisor of the job on this machine) or the NodeManager ends this
// executor.
struct TermSignal {};
struct Tick {};  // NextDeadline() has passed

using Event =
    std::variant<Begun, Registered, CommandReceived, HeartbeatAnswered, ValuesAcknowledged, OutcomeAcknowledged,
                 Refused, ConnectionLost, LeaseRead, LeaseUnreadable, FolderGone, AttemptNotBegun, ProcessStarted,
                 ProcessNotStarted, ProcessExited, TreeGone, TreeSurvived, UsageMeasured, ValuesSeen, TermSignal, Tick>;

// The actions that a TaskRun requests. The executor performs them in the given order.

// Drops the current connection, and uses this AM for the calls that follow.
struct UseAm {
  int64_t link = 0;
  Address am;
};
struct SendRegister {
  Caller caller;
  Registration what;
};
struct SendAwait {
  Caller caller;
  int64_t since = 0;  // number of the last executed command
};
struct SendHeartbeat {
  Caller caller;
  Progress progress;
  Instant sent{};  // returned by HeartbeatAnswered
};
// Sends all published values. The AM ignores values that it already has.
struct SendValues {
  Caller caller;
  PublishedValues values;
};
struct SendOutcome {
  Caller caller;
  Outcome outcome;
};
struct ReadLease {};  // answered by LeaseRead, LeaseUnreadable or FolderGone
// Reads the lease record whenever it changes, until UnwatchLease. May be repeated.
struct WatchLease {};
struct UnwatchLease {};  // allowed without a previous WatchLease
// Makes `attempt` the current attempt, and locks its folder. AttemptNotBegun reports a failure.
struct BeginAttempt {
  AttemptId attempt;
};
// Starts all processes of the attempt.
struct StartProcesses {
  Generation generation;
  std::string cluster_spec;  // JSON
  std::string resume_from;   // newest checkpoint; empty: none
};
// Writes a notice to $TONY_NOTICE_FILE: the program is about to be stopped, and will be killed at `deadline`.
struct GiveNotice {
  std::string reason;  // e.g. "preempted"
  Instant deadline;
};
// Sends a signal to every process in the task's tree; signal 0 only checks the tree. TreeGone answers if no process is
// left. TreeSurvived answers if processes survive SIGKILL.
struct SignalTree {
  int signal = 0;
};
// Logs a warning that the tree survives SIGKILL.
struct WarnOfTree {
  std::string what;
};
// Writes the outcome to disk. The outcome is reported afterwards.
struct KeepOutcome {
  Outcome outcome;
};
// Ends the executor. No action follows.
struct Leave {
  int exit_code = 0;
};

using Action =
    std::variant<UseAm, SendRegister, SendAwait, SendHeartbeat, SendValues, SendOutcome, ReadLease, WatchLease,
                 UnwatchLease, BeginAttempt, StartProcesses, GiveNotice, SignalTree, WarnOfTree, KeepOutcome, Leave>;

// The exit codes of the executor. The codes are those of sysexits.h where sysexits.h has a fitting one.
inline constexpr int kLeftReleased = 0;
inline constexpr int kLeftFolderGone = 66;  // the job's folder was removed
inline constexpr int kLeftOrphaned = 69;    // no AM reachable during orphan_timeout
// The task's processes survive SIGKILL. The keeper tries to end them by means of the container's cgroup.
inline constexpr int kLeftTreeAlive = 71;
// The AM does not know this attempt, or no longer wants it.
inline constexpr int kLeftRefused = 76;
inline constexpr int kLeftTerminated = 143;  // received SIGTERM

}  // namespace tony::executor
