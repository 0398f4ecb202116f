// The states of an attempt as its executor sees them, and every transition between them.
//
//            START            ProcessStarted          ProcessExited           TreeGone
//   Waiting ------> Starting ---------------> Running --------------> Sweeping -------+
//      |               |   \                     |                                    v       Leave
//      | stop          |    \ stop          stop |      TreeGone, reaped            Ended ----------> Left
//      |               |     +----> Stopping <---+------------------------------------^ ^
//      |               |               | grace over                                   | |
//      |               |               +------------> Killing ------------------------+ |
//      +---------------+----------------------------------------------------------------+
//                        ProcessNotStarted
//
// With several processes the states are the same. Running begins when all processes have been started, and ends when
// the last one has been reaped. When one process fails, the others are stopped at once (Starting or Running moves to
// Stopping). The attempt gets the outcome of the process that failed first. When a process succeeds, the others
// continue to run.
//
// NEXT moves from Ended back to Waiting, for the next attempt of the task.
//
// "stop" stands for a STOP or RELEASE command, a refusal of the attempt by the application master (AM), the execution
// limit, or SIGTERM. It also stands for two losses of contact: the executor is cut off from a living AM, or no AM was
// reachable for orphan_timeout. An attempt starts its processes at most once. An attempt has ended when its processes
// have been reaped *and* its tree is empty. Processes that a finished process leaves behind are killed at once
// (Sweeping). If a tree survives SIGKILL for 30 s although it is not blocked in the kernel, Sweeping or Killing moves
// to Left. The attempt has not ended then, and its tree is left to the keeper (the supervisor of the job on this
// machine).
//
// The link to the AM is a second small state machine: Searching (reads the lease record), Registering, Linked, and
// Closed after the AM has refused this attempt. Each UseAm has a new link number. Answers with an earlier link number
// are ignored, so the executor never obeys a late answer of a dead AM.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace tony::executor {

enum class State { kWaiting, kStarting, kRunning, kSweeping, kStopping, kKilling, kEnded, kLeft };
std::string_view ToString(State state);  // e.g. "Waiting"

enum class Trigger {
  kStart,
  kStarted,     // all processes have been started
  kNotStarted,  // no process could be started
  kExited,      // the last process was reaped
  kFailed,      // a process failed, others still run
  kStop,
  kGraceOver,
  kTreeGone,
  kGiveUp,
  kNext,
  kLeave
};
std::string_view ToString(Trigger trigger);

struct Transition {
  State from;
  Trigger trigger;
  State to;
};
// All transitions. A trigger without a row for the current state changes nothing.
std::span<const Transition> Transitions();
std::optional<State> Next(State from, Trigger trigger);  // nullopt: no such row

enum class Link { kSearching, kRegistering, kLinked, kClosed };
std::string_view ToString(Link link);

}  // namespace tony::executor
