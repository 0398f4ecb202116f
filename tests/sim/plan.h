// The plan of one run: the job, the behaviour of its processes, and the faults. A plan is made from a seed or written
// by hand for a scenario.
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

// Faults. A plan gives each a time.

// ---- faults of the AM and its files
struct CrashAm {
  // This many of the next AMs crash as soon as they have begun, too.
  int more = 0;
};
struct FreezeAm {
  Duration length{0};
};
// Every append to the journal fails and leaves some bytes behind.
struct FillDisk {
  Duration length{0};
};
// The next sync of the journal fails: the write is lost, and the file must not be used any longer.
struct FailSync {};
struct LockLease {  // The lease record cannot be written.
  Duration length{0};
};
// The scheduler declares the newest AM dead and starts another, although the AM lives on and reaches its executors.
struct DoubleAm {
  // The declared AM does not reach the store of its job for this time.
  Duration store_cut{0};
};
struct AskKill {
  Duration grace{-1};
};
// ---- faults of the keeper
struct FreezeKeeper {
  Duration length{0};
};
struct KillKeeper {
  // A new keeper is started after this time at the latest.
  Duration back_after{0};
};
// ---- faults of an executor
struct KillExecutor {
  TaskId task;
};
struct TermExecutor {
  TaskId task;
};
// The executor's process is frozen, and the task's process runs on.
struct StallExecutor {
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
// The executor cannot read the lease record.
struct CutStore {
  TaskId task;
  Duration length{0};
};
// ---- faults that a scheduler brings
struct EndContainer {  // The container ends with this class.
  TaskId task;
  std::optional<OutcomeClass> cls;
};
struct Preempt {
  TaskId task;
  Duration notice{0};
};
// The node is unreachable, and the scheduler reports the container's end only later.
struct LoseNode {
  TaskId task;
  Duration told_after{0};
  // The container dies at once; otherwise it dies when its end is reported.
  bool dies = true;
};
// The scheduler reports the container's end while the container lives on.
struct LieAboutEnd {
  TaskId task;
  Duration overlap{0};
};
// The scheduler reports that the container may have ended. The container lives on, and the scheduler cannot reach it
// any longer.
struct DoubtEnd {
  TaskId task;
};

// ---- requests of engines and their watchers; they are not faults
struct AskAttach {
  Claim claim;
};
struct AskLook {
  WatcherToken watcher;
};
struct AskConditionalKill {
  KillRequest request;
  // The time from the request until the kill is due.
  Duration delay{0};
};

using Fault = std::variant<CrashAm, FreezeAm, FillDisk, FailSync, LockLease, DoubleAm, AskKill, FreezeKeeper,
                           KillKeeper, KillExecutor, TermExecutor, StallExecutor, CutNetwork, CutStore, EndContainer,
                           Preempt, LoseNode, LieAboutEnd, DoubtEnd, AskAttach, AskLook, AskConditionalKill>;
struct TimedFault {
  Duration at{0};  // since the start of the run
  Fault fault;
};

// The behaviour of a process of one attempt.
struct ProcessPlan {
  Duration start{2};  // time to start the process
  bool cannot_start = false;
  // The work to do if the process is not stopped. A process that resumes from a checkpoint has less left to do.
  Duration run{10'000};
  int exit_code = 0;
  // The time from SIGTERM to the exit; nullopt: only SIGKILL ends the process.
  std::optional<Duration> obeys_term = Duration(50);
  // The process leaves children that outlive it and ignore SIGTERM.
  bool leaves_children = false;
  // SIGKILL does not end the children, either: they belong to another user.
  bool children_stay = false;
  // The work between two checkpoints; 0: the process writes none.
  Duration checkpoint_every{0};
  // The process publishes after this time, or at half of its work if that is earlier; nullopt: never.
  std::optional<Duration> publish_after;
  // For the attempt's first process: the other processes, which start with it.
  std::vector<ProcessPlan> beside = {};
};

struct TaskPlan {
  Duration grant{1};  // from the request to the container
  // from the order to the executor's first step
  Duration launch{20};
  // This many containers of the task end as soon as they are launched.
  int launches_failing = 0;
  bool granted_twice = false;
  // The executor cannot run a second attempt.
  bool cannot_begin = false;
  std::vector<ProcessPlan> earlier;  // attempts 1, 2, ...
  ProcessPlan process;               // all later attempts

  const ProcessPlan& ProcessOf(int attempt) const;
};

struct NetworkPlan {
  Duration shortest{0};
  Duration longest{5};
  // Broken connections per mille of the messages.
  int loss = 0;
  int duplicates = 0;  // Requests per mille that arrive twice.
  // Messages may be reordered within a connection, which TCP does not do.
  bool reorders = false;
};

struct AmPlan {
  // The time from the start of an AM's process until it is leader.
  Duration shortest_start{5};
  Duration longest_start{50};
  // The longest write of a batch to the journal.
  Duration longest_write{3};
  // The wait for a full disk once the verdict is known; nullopt: no limit.
  std::optional<Duration> patience;
  // The longest read of the checkpoint directory.
  Duration longest_look{20};
  // Failing reads of the checkpoint directory, per mille.
  int failing_looks = 0;
  // Writes to the journal per mille that the store completes and answers with an error.
  int unanswered_writes = 0;
  // counted over the whole run, from 1
  std::vector<int64_t> crash_at_steps;
  // Crashes per mille of the AM's steps while faults may happen.
  int crashes_per_mille = 0;
  // The limit for crashes by `crash_at_steps`, `crashes_per_mille` and CrashAm together.
  int most_crashes = 3;
  // How many bytes a crash leaves of a batch that is being written; nullopt: chance decides.
  std::optional<size_t> torn_to;
};

struct SchedulerPlan {
  // Container ends per mille that the scheduler reports twice.
  int told_twice = 0;
  // Running containers per mille that are missing in the scheduler's first list to an AM and reported later.
  int listed_late = 0;
  // Events per mille that the scheduler repeats about a container of another job.
  int strangers = 0;
  // The longest time from the order to end a container until its node acts on it.
  Duration slowest_stop{0};
};

// A step of the wall clock of the AMs' machine while the job runs.
struct WallStep {
  Duration at{0};
  Duration by{0};
};

// The errors of each process's own clock.
struct ClockPlan {
  int64_t most_drift = 0;  // parts per million, either way
  Duration most_offset{0};
  // All AMs run on one machine: each continues the job's saved clock.
  bool one_machine = false;
  // The steps of that machine's wall clock. On other machines an AM has only their wall clocks.
  std::vector<WallStep> steps;
};

struct Plan {
  // seed of all chance in the run
  uint64_t seed = 0;
  JobSpec spec;
  std::map<TaskId, TaskPlan> tasks;
  NetworkPlan network;
  AmPlan am;
  SchedulerPlan scheduler;
  // The longest read of the lease record if it is in a store that the executors share over the network, and that
  // reports no changes. nullopt: the store is on the job's machine.
  std::optional<Duration> shared_store;
  ClockPlan clocks;
  // Checkpoints of other jobs that are in the directory before this job.
  std::vector<Checkpoint> of_others;
  std::vector<TimedFault> faults;
  Claim claim;  // the submitter's
  // After this time nothing goes wrong by chance.
  Duration faults_end{0};

  // Returns the time by which the job must have ended.
  Duration Limit() const;
  // Returns the time from which on all planned faults are over.
  Instant FaultsAreOver() const;
  // Returns the longest time from FaultsAreOver(), or from when the job had to stop if that is later, to its end.
  Duration LongestEnd() const;
  // Returns the longest time that a container runs after the scheduler falsely reported its end.
  Duration LongestOverlap() const;
};

std::vector<TaskId> TasksOf(const JobSpec& spec);
// Returns a plan with tracked workers that run for ten seconds, without any fault.
Plan QuietPlan(int workers);

// Deliberate bugs in the simulated shells. The checker must find each of them.
enum class Flaw {
  kNone,
  // ---- bugs of the AM

  // The AM answers and acts before it writes.
  kActsBeforeJournal,
  // The AM opens stages before it writes the published values.
  kOpensStagesEarly,
  // A new AM begins with an empty job.
  kForgetsJournal,
  // The AM appends behind half a record.
  kKeepsTornTail,
  // The AM answers an Await from a state that is not in the journal yet.
  kTellsAhead,
  // A new AM does not read the kill request.
  kForgetsKill,
  // The AM renews the lease record while it cannot reach its arbiter.
  kRenewsWithoutRule,
  // The AM treats a lease record that it could not write as renewed.
  kRenewsUnwritten,
  // A new AM does not repeat orders that its predecessor may not have completed.
  kSkipsPendingOrders,
  kSeesNoCheckpoint,  // The AM never finds a checkpoint.
  // The AM resumes from a checkpoint that another job wrote.
  kTakesOthersCheckpoints,
  // The AM treats a conditional kill as a plain one.
  kIgnoresFence,
  // The AM treats every watcher as one without a name.
  kOverlooksWatchers,
  // The AM sets its clock by the wall clock and ignores the job's saved clock.
  kFollowsWall,
  // The AM writes to a journal that a later AM has sealed.
  kIgnoresSeal,
  // The AM answers executors while it cannot reach its arbiter.
  kAnswersWithoutRule,
  // The AM appends a write again that the store completed without an answer.
  kRepeatsUnanswered,
  // The AM keeps containers that no attempt needs.
  kKeepsSurplus,
  // ---- bugs of the scheduler

  // The scheduler reports a container's exit as soon as its end is ordered.
  kConfirmsUnseen,
  // The scheduler waits long for a process that it cannot end.
  kWaitsForWhatStays,
  // ---- bugs of the executor

  // The executor starts a process again that has ended.
  kStartsTwice,
  // The executor does not see what its process publishes.
  kLosesValues,
  // The executor does not tell its process where to resume.
  kLosesResume,
  // The executor gives its process another cluster spec than the AM sent.
  kAltersClusterSpec,
  // The executor does not signal a process that it must stop.
  kIgnoresStop,
  // The executor counts the end of every process except the first as a success.
  kSeesFirstProcessOnly,
  // The executor continues under the name of its old attempt.
  kForgetsAttempt,
};

}  // namespace tony::sim
