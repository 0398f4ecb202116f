// The states of an attempt as its executor sees them, and every way from one to the next.
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
// With several processes the picture is the same: Running begins when all have been started, and ends when the last one
// has been reaped, or at once when one fails: the others are stopped (Starting or Running to Stopping), and the outcome
// is that of the first which failed. One that ends well leaves the others running.
//
// NEXT takes Ended back to Waiting, as the next attempt of the task.
//
// "stop" is a STOP or RELEASE command, a refusal of the attempt, being cut off, having no AM for orphan_timeout, or
// SIGTERM. An attempt starts its process at most once. It has ended when the process has been reaped *and* nothing of
// its tree is left; what a finished process leaves behind is killed at once (Sweeping). What does not end for 30 s
// although somebody could end it is left to the keeper: Sweeping or Killing goes to Left, without an end.
//
// The link to the AM is a second small state: Searching (reads the lease record), Registering, Linked; Closed once the
// AM does not want this attempt. Each UseAm has a new link number; answers that belong to an earlier one are ignored,
// so a late answer of a dead AM is never obeyed.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace tony::executor {

enum class State { kWaiting, kStarting, kRunning, kSweeping, kStopping, kKilling, kEnded, kLeft };
std::string_view ToString(State state);  // "Waiting", ...

enum class Trigger {
  kStart,
  kStarted,     // all processes
  kNotStarted,  // none
  kExited,      // the last one
  kFailed,      // one of several, and others are left
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
// Every change of state there is; what has no row here changes nothing.
std::span<const Transition> Transitions();
std::optional<State> Next(State from, Trigger trigger);  // nothing: no such row

enum class Link { kSearching, kRegistering, kLinked, kClosed };
std::string_view ToString(Link link);

}  // namespace tony::executor
