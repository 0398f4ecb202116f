// The application master's core: one job's state, what to decide, and what follows from a decision. Pure: no I/O, no
// threads, no clock, no Thrift; unit tests, replay after a crash and the simulator call exactly this.
//
// A turn (TakeTurn) is Decide(), then Evolve() of each decision and of every Consequence(). The shell journals the
// decisions of its turns, and when they are on the disk performs the actions and answers the calls, in order. Replay
// calls Evolve() alone and drops the actions; the AmStarted that follows brings back those still to be done. Functions
// that return decisions are policy; an Apply() has none: it changes the state and returns actions.
//
// ---- The life of a job. Its states are in states.h; [X] is a decision and its Apply().
//
// accept    A master starts: OnStarted() -> [JobAccepted] once, and [EpochBegan] for each master, which restarts all
//           limits and repeats the orders that its predecessor may not have given (PendingActions).
// request   Consequence() -> [ContainersRequested] of the roles that wait for no other's success (MayOpen). Each task
//           gets its first attempt (MakeAttempt); the job is Allocating.
// allocate  OnGranted() -> [ContainerAssigned], whose action launches the executor. When each task of the gang has a
//           container: [GangAllocated]; the job is Gathering. A gang that waits too long for the rest of its containers
//           gives all of them back and starts over (GangHoldDeadline, GiveBack).
// gather    OnRegister() -> [AttemptRegistered] with the task's address. The checkpoint directory is listed once
//           (NextOfListing). When all have an address (HasGathered), [GenerationFormed] opens the barrier: each attempt
//           joins the generation and gets START with the whole cluster spec (JoinGeneration), or waits for what
//           earlier stages publish (StartOrHold). In FCFS mode nobody waits for others.
// run       Heartbeats come (OnHeartbeat), published values open stages (OnPublish, NextStage), and successes open late
//           roles (NextRoles), whose tasks start together once all have registered (ArriveInOpening). An executor that
//           misses heartbeats is suspected, then its container is ended (MissedHeartbeats). Each limit that is over
//           ends what it limits (ExpiredDeadline).
// fail      OnOutcome() of a report, OnExited() of a container's end -> [AttemptEnded]. Judge() looks at the end in the
//           same turn, or after `settle` if a better cause may follow (SettlesAt, FirstCauseOf); JudgeEndOf() says:
//   restart   PlanRestart() found a budget (RestartOrStop): [RestartDecided] puts the tasks of its scope into Backoff
//             and stops their attempts (TakeOver). When these have ended, their containers are confirmed gone, the
//             delay is over and the newest checkpoint is known (NextOf), [RestartBegan] makes the next attempts: in
//             the same executor (Renew) or in a new container (Replace). A restart of gang or job goes back to
//             allocate; a smaller one joins the generation that runs (ArriveInRestart).
//   tolerate  The role may have one more failure: [FailureTolerated]; the job goes on without the task.
//   stop      No restart is left: [JobStopping] with the verdict that names the first cause.
// succeed   The tracked roles are complete (WhatIsOver, IsComplete): [JobStopping] with success. A role of which enough
//           has succeeded is ended alone: [RoleFinished].
// stop      [JobStopping] also follows from a kill (OnKill, OwnershipDecision), from the job's time limit (TimeLimit),
//           and from a role that ran on for too long (NextOutlived). Restarts are given up (AbandonRestarts), and each
//           attempt gets STOP with a grace (StopAttempt); [StopHurried] shortens the grace (ShortenGrace).
// end       No attempt is left, and each container is confirmed gone: Consequence() -> [JobEnded], whose action writes
//           the verdict and lets the master leave.
//
// ---- The life of an attempt
//
// Requested    MakeAttempt(), with a limit for its container
// Allocated    [ContainerAssigned], with a limit for its registration
// Launching    [AttemptLaunched]: the scheduler has started its executor. A renewed attempt begins here (Renew)
// Registered   [AttemptRegistered]: its address is known; it waits for the barrier, then for START (CommandFor)
// Running      [AttemptRan]: the executor has said that the process runs
// Stopping     StopAttempt(): STOP with a grace, after which its container is ended [ContainerKillOrdered]
// final        [AttemptEnded] with its outcome. Its executor is released (ReleaseExecutor), or kept for the next
//              attempt while a restart is possible (IsKept); [ContainerEnded] says that nothing of it is left
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "am/core/containers.h"
#include "am/core/deadlines.h"
#include "am/core/judgement.h"
#include "am/core/late_roles.h"
#include "am/core/ownership.h"
#include "am/core/restarts.h"
#include "am/core/states.h"
#include "am/core/tasks.h"
#include "am/core/turn.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"

namespace tony::am {

class Job {
 public:
  Job(JobId id, JobSpec spec);

  // All policy is in these two. Decide() changes nothing except what is not journalled, because a new AM starts without
  // it: who was heard last, with what usage, and when a client was last seen. Consequence() is the next decision that
  // the state itself calls for, whatever was seen.
  Decided Decide(const Observation& observation, Instant now);
  std::optional<DecisionBody> Consequence(Instant now) const;
  // All change of state is here; no policy. kInvalid: the decision does not fit the state, so the journal is damaged.
  Result<Actions> Evolve(const Decision& decision);

  // The effect of a KillAsked that came now; and whether an AttachAsked is possible: the job runs, or ends after
  // success.
  KillAnswer AnswerTo(const KillRequest& request, Instant now) const;
  bool MayAttach() const;

  // When TimePassed has something to decide, at the latest.
  std::optional<Instant> NextDeadline() const;

  // The newest order for an attempt's executor: what its Await is answered with once its number is above `since`.
  Command CommandFor(const AttemptId& attempt) const;
  // CommandFor().number, without the cluster spec's copy; and CommandFor() as an action.
  int64_t CommandNumber(const AttemptId& attempt) const;
  TellExecutor Tell(const AttemptId& attempt) const;

  JobState state() const { return state_; }
  Epoch epoch() const { return epoch_; }
  // Grows with every decision that a status shows as news.
  int64_t seq() const { return seq_; }
  bool Ended() const { return IsFinal(state_); }
  // Which part of its tracked tasks is over: 0 to 1.
  double Progress() const;
  // Tasks run, or may still be started, because no verdict has been decided.
  bool MayRunTasks() const;
  const JobSpec& spec() const { return spec_; }
  // From JobStopping on.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  // kNew for an attempt that was never made.
  AttemptState StateOf(const AttemptId& attempt) const;
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  const CheckpointListing& listing() const { return checkpoints_.listing(); }
  JobStatus Snapshot(const std::string& user, Instant submitted) const;
  const Ownership& ownership() const { return ownership_; }

  // Ends the process if two members contradict each other, in the state after a turn. It walks through all attempts, so
  // tests and the simulator call it after each turn, and users' masters do not.
  void CheckInvariants() const;

 private:
  // ---- job_decide.cc: what to make of what is seen
  Decided OnStarted(const AmStarted& seen, Instant now);
  Decided OnKill(const KillRequest& request, Instant now) const;
  JobStopping StopFor(const KillRequest& request) const;
  Decided OnAttach(const AttachAsked& seen, Instant now);
  Decided OnLooked(const Looked& seen, Instant now);
  Decided OnRegister(const RegisterCall& call, Instant now);
  Decided OnHeartbeat(const HeartbeatCall& call, Instant now);
  Decided OnOutcome(const OutcomeCall& call, Instant now);
  Decided OnListing(const CheckpointsThere& seen) const;
  Decided OnCheckpoint(const CheckpointSeen& seen) const;
  Decided OnContainer(const ContainerEvent& seen);
  Decided OnGranted(const ContainerGranted& granted) const;
  Decided OnLaunched(const ContainerStarted& started) const;
  Decided OnExited(const ContainerExited& exited) const;
  Decided OnPreempting(const ContainerPreempting& notice);
  Decided OnReached(const SchedulerReached& reached) const;
  std::optional<Refusal> CheckCaller(const Caller& caller) const;
  // Checks the caller, and notes that it was heard.
  Decided Hear(const Caller& caller, Instant now);
  Outcome Explained(const Attempt& attempt, Outcome outcome) const;

  // ---- deadlines.cc: limits that are over, and heartbeats that are missed
  Decided OnRenewed(Instant now);
  Decided OnTime(Instant now);
  std::optional<DecisionBody> ExpiredDeadline(Instant now) const;
  std::string LateRegistration(const AttemptId& id) const;
  std::optional<DecisionBody> OwnershipDecision(Instant now) const;
  std::vector<DecisionBody> MissedHeartbeats(Instant now) const;
  std::optional<Instant> NextSilence() const;
  // The limit of the whole job, while it may still be reached.
  std::optional<Instant> TimeLimit() const;
  Outcome Silence(const std::string& more = "") const;
  // Tasks that have no container, or have not registered, for a message.
  std::string Missing(bool container) const;

  // ---- late_roles.cc: stages, roles that start late
  Decided OnPublish(const PublishCall& call, Instant now);
  std::optional<DecisionBody> NextStage() const;
  // First attempts of the roles that wait for no other's success any more.
  std::vector<AttemptId> MayOpen() const;
  std::optional<DecisionBody> NextRoles() const;
  bool IsReady(const RoleSpec& role) const;
  Outcome WithoutValues(const Attempt& attempt, Outcome outcome, OutcomeClass if_missing) const;
  std::string MissingValues() const;
  // As much of the role as is needed; nothing of it will run.
  bool HasSucceeded(const std::string& role) const;
  // The role has succeeded, and others were not to start before: it does not start again, whatever becomes of them.
  bool IsSettled(const std::string& role) const { return late_roles_.IsAwaited(role) && HasSucceeded(role); }
  // Tasks that are or were requested, without those of settled roles.
  int GangSize() const;
  // The generation that the task would join has formed; so has the gang or opening that the attempt started with.
  bool IsFormed(const TaskId& id) const;
  bool HasFormed(const Attempt& attempt) const;

  // ---- judgement.cc: which end is judged, when, and what it means
  struct Outlived {
    Instant due;
    const RoleSpec* role;
    const Outliving* rule;
  };
  std::optional<DecisionBody> Judge(Instant now) const;
  std::optional<DecisionBody> WhatIsOver() const;
  std::optional<Instant> NextJudgement() const;
  void ForEachUnsettled(const std::function<void(const AttemptId&, std::optional<Instant>)>& visit) const;
  std::optional<Instant> SettlesAt(const AttemptId& id) const;
  AttemptId FirstCauseOf(const AttemptId& id) const;
  bool EndsItself(const Attempt& attempt) const;
  std::string SilentTasks(const Attempt& failed) const;
  std::string ProbableCause(const Attempt& failed) const;
  std::string TasksBeside(const Attempt& failed) const;
  EndedTask EndedAs(const AttemptId& id) const;
  EarlierFailures EarlierThan(const AttemptId& id) const;
  std::optional<Verdict> VerdictOn(const EndedTask& failed) const;
  // A role that runs on after a group, and until when it may.
  std::optional<Outlived> NextOutlived() const;
  DecisionBody EndOf(const Outlived& outlived, Instant now) const;
  std::string HangReport(Instant now) const;

  // ---- restarts.cc
  std::optional<DecisionBody> JudgeEndOf(const AttemptId& id, Instant now) const;
  std::optional<DecisionBody> RestartOrStop(const EndedTask& ended, std::optional<Verdict> verdict, Instant now) const;
  RestartDecided RestartFor(const RestartPlan& plan, const EndedTask& cause, Instant now) const;
  std::vector<TaskId> TasksIn(RestartScope scope, const TaskId& cause) const;
  std::optional<DecisionBody> NextOfRestarts(Instant now) const;
  std::optional<DecisionBody> NextOf(const Restart& restart, Instant now) const;
  bool MustList() const;
  std::optional<DecisionBody> NextOfListing(Instant now) const;
  bool AwaitsListing() const { return checkpoints_.listing_sought() && !checkpoints_.IsListed() && !verdict_; }
  std::optional<Instant> ListingDue() const;
  std::optional<Instant> GangHoldDeadline() const;
  const Opening* StuckOpening() const { return state_ == JobState::kRunning ? late_roles_.Stuck() : nullptr; }
  RestartDecided GiveBack(Instant now) const;
  RestartBegan Begin(const Restart& restart) const;
  Verdict WithoutProgress(const Restart& restart) const;
  std::optional<Instant> NextRestart() const;
  bool ConcernsTracked(const Restart& restart) const;
  // The executor of an ended attempt could run the next one; and it is neither released nor told to go on.
  bool CanRenew(const Attempt& ended) const;
  bool IsKept(const Attempt& ended) const;

  // ---- job_evolve.cc, late_roles.cc, restarts.cc: what follows from a decision
  Result<Actions> Apply(const EpochBegan& d, Instant time);
  Result<Actions> Apply(const JobAccepted& d, Instant time);
  Result<Actions> Apply(const ContainersRequested& d, Instant time);
  Result<Actions> Apply(const ContainerAssigned& d, Instant time);
  Result<Actions> Apply(const GangAllocated& d, Instant time);
  Result<Actions> Apply(const AttemptLaunched& d, Instant time);
  Result<Actions> Apply(const AttemptRegistered& d, Instant time);
  Result<Actions> Apply(const GenerationFormed& d, Instant time);
  Result<Actions> Apply(const AttemptRan& d, Instant time);
  Result<Actions> Apply(const AttemptSuspected& d, Instant time);
  Result<Actions> Apply(const AttemptHeard& d, Instant time);
  Result<Actions> Apply(const AttemptEnded& d, Instant time);
  Result<Actions> Apply(const ContainerKillOrdered& d, Instant time);
  Result<Actions> Apply(const ContainerEnded& d, Instant time);
  Result<Actions> Apply(const JobStopping& d, Instant time);
  Result<Actions> Apply(const StopHurried& d, Instant time);
  Result<Actions> Apply(const JobEnded& d, Instant time);
  Result<Actions> Apply(const RestartDecided& d, Instant time);
  Result<Actions> Apply(const ListingSought& d, Instant time);
  Result<Actions> Apply(const CheckpointsListed& d, Instant time);
  Result<Actions> Apply(const CheckpointSought& d, Instant time);
  Result<Actions> Apply(const CheckpointNoted& d, Instant time);
  Result<Actions> Apply(const RestartBegan& d, Instant time);
  Result<Actions> Apply(const AttemptStopping& d, Instant time);
  Result<Actions> Apply(const OwnerChanged& d, Instant time);
  Result<Actions> Apply(const WatcherChanged& d, Instant time);
  Result<Actions> Apply(const KillPlanned& d, Instant time);
  Result<Actions> Apply(const KillVoided& d, Instant time);
  Result<Actions> Apply(const ValuesPublished& d, Instant time);
  Result<Actions> Apply(const StageOpened& d, Instant time);
  Result<Actions> Apply(const RoleLeft& d, Instant time);
  Result<Actions> Apply(const FailureTolerated& d, Instant time);
  Result<Actions> Apply(const RoleFinished& d, Instant time);
  Status Step(JobStep step);
  Result<Attempt*> MakeAttempt(const AttemptId& id, AttemptStep how, Instant time);
  Status Renew(const RenewedAttempt& renewed, Instant time, Actions& actions);
  Status Replace(const AttemptId& id, Instant time, Actions& actions);
  Status TakeOver(Restart& restart, const TaskId& id, Duration grace, Instant time, Actions& actions);
  void AbandonRestarts(Instant time, Actions& actions);
  void AbandonRestartOf(const TaskId& id, Instant time, Actions& actions);
  void AwaitGone(Restart& restart, const Attempt& ended, Instant time);
  void ArriveInRestart(const Attempt& attempt, Instant time, Actions& actions);
  void ArriveInOpening(const Attempt& attempt, Instant time, Actions& actions);
  // Whether the attempt may start; else it is held until its stage opens.
  bool StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time);
  void JoinGeneration(Attempt& attempt, const ClusterSpecText& cluster, Instant time);
  void StopAttempt(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void ShortenGrace(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void ReleaseExecutor(const Attempt& attempt, Instant leave_by, Actions& actions);
  void ClearLimits(const ContainerId& id);
  void GiveUp(Attempt& attempt, Instant time);
  void GiveUpLater(Attempt& attempt, Instant heard);
  // As it is sent to tasks of this stage, or of a role that waited for others to be ready.
  ClusterSpecText MakeClusterSpec(int stage = 0, const std::string& role = "") const;
  void AddTo(ClusterSpec& cluster, const TaskId& id, bool with_address, bool with_values) const;

  // ---- job.cc
  // The orders that an AM which starts has to give again.
  Actions PendingActions() const;
  ContainerAsk AskFor(const AttemptId& id) const;
  // The number of the attempt that its executor runs next; 0: none.
  int NextIn(const Attempt& ended) const;
  bool IsTracked(const TaskId& id) const { return spec_.FindRole(id.role)->completion == Completion::kTracked; }
  bool IsFcfs() const { return spec_.mode == DistributedMode::kFcfs; }
  bool HasPlaces() const { return tasks_.CountInGang(AttemptState::kRequested) == 0; }
  // Everybody who takes part in forming the gang waits for it.
  bool HasGathered() const;
  // Its executor owes heartbeats.
  bool IsWatched(const Attempt& attempt) const;
  bool AnyWatched() const;
  // The attempt was told to start, and has not said that it did; and it has registered, or was told to stop before it
  // could.
  bool CanRun(const Attempt& attempt) const;
  bool MayReport(const Attempt& attempt) const;
  CheckpointStatus SnapshotOfCheckpoints() const;
  std::string WhatWaits(const RoleSpec& role, const Task& task) const;
  std::string TensorBoardUrl() const;
  void CheckState() const;
  void CheckNewest(const Attempt& attempt) const;

  const JobId id_;
  const JobSpec spec_;
  JobState state_ = JobState::kAccepted;
  Epoch epoch_;
  int64_t seq_ = 0;
  Generation generation_;
  Tasks tasks_;
  Containers containers_;
  Deadlines deadlines_;
  LateRoles late_roles_;
  Stages stages_;
  Restarts restarts_;
  Checkpoints checkpoints_;
  Results results_;
  Ownership ownership_;
  std::optional<Verdict> verdict_;
  Duration stop_grace_{0};
  std::optional<Instant> accepted_at_, ended_at_;
  // The scheduler confirms the end of each container (AmStarted). Not journalled.
  bool ends_are_confirmed_ = false;
};

TurnResult TakeTurn(Job& job, const Observation& observation, Instant now);

}  // namespace tony::am
