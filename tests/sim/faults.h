// What goes wrong in a run at a certain time.
#pragma once

#include <optional>
#include <variant>

#include "runtime/base/time.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"

namespace tony::sim {

// ---- the AM and its files
struct CrashAm {
  int more = 0;  // so many of the next ones crash as soon as they have begun
};
struct FreezeAm {
  Duration length{0};
};
struct FillDisk {  // nothing can be appended to the journal; what is tried leaves some bytes behind
  Duration length{0};
};
struct FailSync {};  // the next write to the journal is not kept, and that file is not to be trusted any more
struct LockLease {   // the lease record cannot be written
  Duration length{0};
};
struct AskKill {
  Duration grace{-1};
};
// ---- the keeper
struct FreezeKeeper {
  Duration length{0};
};
struct KillKeeper {
  Duration back_after{0};  // somebody starts another by then
};
// ---- an executor
struct KillExecutor {
  TaskId task;
};
struct TermExecutor {
  TaskId task;
};
struct StallExecutor {  // its process; the task's runs on
  TaskId task;
  Duration length{0};
};
struct CutNetwork {
  enum class Direction { kBoth, kRequests, kAnswers };
  TaskId task;
  Duration length{0};
  bool store_too = false;
  Direction direction = Direction::kBoth;
};
struct CutStore {  // it cannot read the lease record
  TaskId task;
  Duration length{0};
};
// ---- what schedulers do
struct EndContainer {  // with this class
  TaskId task;
  std::optional<OutcomeClass> cls;
};
struct Preempt {
  TaskId task;
  Duration notice{0};
};
struct LoseNode {  // nobody reaches it, and the scheduler tells of the container's end only later
  TaskId task;
  Duration told_after{0};
  bool dies = true;  // at once; otherwise when it is told
};
struct LieAboutEnd {  // the container is said to have ended, and lives on
  TaskId task;
  Duration overlap{0};
};
struct DoubtEnd {  // the container is said to have ended, maybe, and lives on; the scheduler does not reach it any more
  TaskId task;
};

// ---- no fault: what engines and their watchers ask
struct AskAttach {
  Claim claim;
};
struct AskLook {
  WatcherToken watcher;
};
struct AskConditionalKill {
  KillRequest request;
  Duration delay{0};  // from now until it is due
};

using Fault = std::variant<CrashAm, FreezeAm, FillDisk, FailSync, LockLease, AskKill, FreezeKeeper, KillKeeper,
                           KillExecutor, TermExecutor, StallExecutor, CutNetwork, CutStore, EndContainer, Preempt,
                           LoseNode, LieAboutEnd, DoubtEnd, AskAttach, AskLook, AskConditionalKill>;
struct TimedFault {
  Duration at{0};  // since the start of the run
  Fault fault;
};

}  // namespace tony::sim
