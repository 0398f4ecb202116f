// What happens in one run beside what the programs do themselves: the job, how its processes behave, and the faults.
// Made from a seed, or written by hand for a scenario.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony::sim {

// Faults, each at its time.

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

// A process of one attempt.
struct ProcessPlan {
  Duration start{2};  // how long it takes to start it
  bool cannot_start = false;
  Duration run{10'000};  // its work if nobody stops it; one that resumes from a checkpoint has so much less to do
  int exit_code = 0;
  std::optional<Duration> obeys_term = Duration(50);  // nothing: only SIGKILL ends it
  bool leaves_children = false;                       // they outlive it and ignore SIGTERM
  bool children_stay = false;                         // nor does SIGKILL end them: they are another user's
  Duration checkpoint_every{0};                       // of its work; 0: it writes none
  std::optional<Duration> publish_after;              // at the latest when half its work is done; nothing: never
  std::vector<ProcessPlan> beside = {};  // of the attempt's first process: the others, which are started with it
};

struct TaskPlan {
  Duration grant{1};         // from the ask to the container
  Duration launch{20};       // from the order to the executor's first step
  int launches_failing = 0;  // so many of its containers end at once
  bool granted_twice = false;
  bool cannot_begin = false;         // its executor cannot take a second attempt
  std::vector<ProcessPlan> earlier;  // of attempts 1, 2, ...
  ProcessPlan process;               // of all later ones

  const ProcessPlan& ProcessOf(int attempt) const;
};

struct NetworkPlan {
  Duration shortest{0};
  Duration longest{5};
  int loss = 0;           // per mille of the messages: the connection breaks
  int duplicates = 0;     // per mille of the requests arrive twice
  bool reorders = false;  // also within a connection, which TCP does not
};

struct AmPlan {
  Duration shortest_start{5};  // from its process to its rule
  Duration longest_start{50};
  Duration longest_write{3};  // of a batch to the journal
  // The wait for a full disk, once the verdict is known; nothing: for ever.
  std::optional<Duration> patience;
  Duration longest_look{20};            // into the checkpoint directory
  int failing_looks = 0;                // per mille of them
  std::vector<int64_t> crash_at_steps;  // counted over the whole run, from 1
  int crashes_per_mille = 0;            // of its steps, while there are faults
  int most_crashes = 3;                 // by these two and by CrashAm
  std::optional<size_t> torn_to;        // what a crash leaves of a batch being written; nothing: left to chance
};

struct SchedulerPlan {
  int told_twice = 0;  // per mille of the ends of containers
};

// The wall clock of the AMs' machine, while the job runs.
struct WallStep {
  Duration at{0};
  Duration by{0};
};

// Of every process's own clock.
struct ClockPlan {
  int64_t most_drift = 0;  // in a million, either way
  Duration most_offset{0};
  bool one_machine = false;     // for all AMs: the job's clock is kept from one to the next
  std::vector<WallStep> steps;  // there; elsewhere another machine's wall clock is all that an AM has
};

struct Plan {
  uint64_t seed = 0;  // of all that is left to chance during the run
  JobSpec spec;
  std::map<TaskId, TaskPlan> tasks;
  NetworkPlan network;
  AmPlan am;
  SchedulerPlan scheduler;
  ClockPlan clocks;
  std::vector<Checkpoint> of_others;  // there before the job
  std::vector<TimedFault> faults;
  Claim claim;             // the submitter's
  Duration faults_end{0};  // nothing goes wrong by chance after it

  Duration Limit() const;           // the job must have ended by then
  Instant FaultsAreOver() const;    // everything that was made wrong by then works again
  Duration LongestEnd() const;      // from there, or from when the job was to end, until nothing waits for it
  Duration LongestOverlap() const;  // by which the scheduler may lie about the end of a container
};

std::vector<TaskId> TasksOf(const JobSpec& spec);
// Tracked workers that run for ten seconds on a machine without faults.
Plan QuietPlan(int workers);

// Ways to get a shell wrong: the checker must find every one.
enum class Flaw {
  kNone,
  // ---- the AM's
  kActsBeforeJournal,       // answers and acts, then writes
  kOpensStagesEarly,        // the same, of published values alone
  kForgetsJournal,          // a new AM begins from nothing
  kKeepsTornTail,           // appends behind half a record
  kTellsAhead,              // answers an Await from a state that is not in the journal yet
  kForgetsKill,             // a new AM does not read the kill request
  kRenewsWithoutRule,       // renews the lease record while its arbiter cannot be reached
  kRenewsUnwritten,         // takes a lease record that it could not write for renewed
  kSkipsPendingOrders,      // a new AM does not order again what its predecessor may not have got done
  kSeesNoCheckpoint,        // finds none, whatever there is
  kTakesOthersCheckpoints,  // goes on from what was there before the job
  kIgnoresFence,            // takes a conditional kill for a plain one
  kOverlooksWatchers,       // takes every watcher for somebody without a name
  kFollowsWall,             // sets its clock by the wall's, whatever the job's was
  // ---- the scheduler's
  kConfirmsUnseen,     // says that a container is gone as soon as its end is ordered
  kWaitsForWhatStays,  // waits long for a process that it cannot end
  // ---- the executor's
  kStartsTwice,           // starts a process again that ended
  kLosesValues,           // does not see what its process publishes
  kLosesResume,           // does not say where to resume
  kAltersClusterSpec,     // gives its process another cluster spec than the AM gave it
  kIgnoresStop,           // does not signal what it is told to stop
  kSeesFirstProcessOnly,  // takes the end of every other process for a good one
  kForgetsAttempt,        // goes on in its old attempt's name
};

}  // namespace tony::sim
