// The application master's core: the state of one job, what to decide, and what follows from a decision. Pure: no I/O,
// no threads, no clock, no Thrift; unit tests, replay after a crash and the simulator call exactly this class.
//
// A step (RunCoreStep) is Decide(), followed by Evolve() of each decision and of every Consequence(). The shell
// (ApplicationMaster) journals the decisions of its steps. When they are on disk, it performs the actions and answers
// the calls, in order. Replay calls only Evolve() and drops the actions; the AmStarted that follows returns the actions
// that are still to be done. Functions that return decisions are policy. An Apply() has no policy: it changes the
// state and returns actions.
//
// ---- The life of a job. Its states are in states.h; [X] is a decision and its Apply().
//
// accept    An AM starts: OnStarted() -> [JobAccepted] once, and [EpochBegan] for each AM, which restarts all limits
//           and repeats the orders that the previous AM may not have given (PendingActions).
// request   Consequence() -> [ContainersRequested] for the roles that do not wait for another role's success
//           (AttemptsToOpen). Each task gets its first attempt (MakeAttempt); the job is Allocating.
// allocate  OnGranted() -> [ContainerAssigned], whose action launches the executor. When each task of the gang has a
//           container: [GangAllocated]; the job is Gathering. A gang that waits too long for the rest of its containers
//           gives all of them back and starts over (GangHoldDeadline, GiveBack).
// gather    OnRegister() -> [AttemptRegistered] with the task's address. The checkpoint directory is listed once
//           (NextOfListing). When all tasks have an address (HasGathered), [GenerationFormed] opens the barrier: each
//           attempt joins the generation and gets START with the whole cluster spec (JoinGeneration), or waits for
//           values that earlier stages publish (StartOrHold). In FCFS mode (first come, first served) no task waits for
//           the others.
// run       Heartbeats arrive (OnHeartbeat), published values open stages (OnPublish, NextStage), and successes open
//           late roles (NextRoles), whose tasks start together once all have registered (NoteInOpening). An executor
//           that misses heartbeats is suspected, and later its container is ended (MissedHeartbeats). A limit
//           that expires stops an attempt or the job (ExpiredDeadline).
// fail      OnOutcome() of a report, OnExited() of a container's end -> [AttemptEnded]. Judge() judges the end in the
//           same step, or after the time `settle` if a better cause may follow (SettlesAt, FirstCauseOf). JudgeEndOf()
//           decides:
//   restart   If a budget allows it (PlanRestart, RestartOrStop), [RestartDecided] puts the tasks of its scope into
//             Backoff and stops their attempts (TakeOver). When these have ended, the end of their containers is
//             confirmed, the delay is over and the newest checkpoint is known (NextOf), [RestartBegan] makes the next
//             attempts: in the same executor (Renew) or in a new container (Replace). A restart of gang or job goes
//             back to allocate; a smaller restart joins the running generation (NoteInRestart).
//   hold      If the job requests it (JobSpec::hold), the container of the failed attempt is kept for a person
//             (HoldForShell). Its task restarts in a new container, and only [JobEnded] waits for the held one.
//   tolerate  If the role may have one more failure: [FailureTolerated]; the job continues without the task.
//   stop      If no restart is left: [JobStopping] with the verdict that names the first cause.
// succeed   When the tracked roles are complete (CompletionDecision, IsComplete): [JobStopping] with success. When
//           enough tasks of one role have succeeded, only this role is ended: [RoleFinished].
// stop      [JobStopping] also follows from a kill (OnKill, OwnershipDecision), from the job's time limit (TimeLimit),
//           and from a role that ran on for too long (NextOutlived). Restarts are given up (AbandonRestarts), and each
//           attempt gets STOP with a grace (StopAttempt); [GraceShortened] shortens the grace (ShortenGrace).
// end       No attempt is left, and the end of each container is confirmed: Consequence() -> [JobEnded], whose action
//           writes the verdict and lets the AM exit.
//
// ---- The life of an attempt
//
// Requested    MakeAttempt(), with a limit for its container
// Allocated    [ContainerAssigned], with a limit for its registration
// Launching    [AttemptLaunched]: the scheduler has started its executor. A renewed attempt begins here (Renew)
// Registered   [AttemptRegistered]: its address is known; it waits for the barrier and for START (CommandFor)
// Running      [AttemptRan]: the executor has reported that the process runs
// Stopping     StopAttempt(): STOP with a grace, after which its container is ended [ContainerKillOrdered]
// final        [AttemptEnded] with its outcome. Its executor is released (ReleaseExecutor), or kept for the next
//              attempt while a restart is possible (IsKept); [ContainerEnded] confirms the end of its container
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
#include "am/core/step.h"
#include "am/core/tasks.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/job_status.h"

namespace tony::am {

class Job {
 public:
  Job(JobId id, JobSpec spec);

  // Decide() and Consequence() contain all policy. Decide() returns the decisions that follow from an observation. It
  // changes only state that is not journalled and that a new AM does not need: the time of each executor's last call,
  // the newest usage, and the time of the last client activity. Consequence() returns the next decision that the state
  // itself requires, whatever was observed.
  Decided Decide(const Observation& observation, Instant now);
  std::optional<DecisionBody> Consequence(Instant now) const;
  // Evolve() changes the state, without any policy. It returns kInvalid if the decision does not fit the state, which
  // means that the journal is damaged.
  Result<Actions> Evolve(const Decision& decision);

  // AnswerTo() returns the effect that a KillRequested with `request` would have now. MayAttach() returns true if an
  // AttachRequested has an effect: while the job runs, and while the job stops after a success.
  KillAnswer AnswerTo(const KillRequest& request, Instant now) const;
  bool MayAttach() const;

  // Returns the time at which the AM has to pass TimePassed to Decide(); nullopt if no limit is set.
  std::optional<Instant> NextDeadline() const;

  // Returns the newest command for an attempt's executor. An Await call is answered with this command once its number
  // is greater than the call's `since`.
  Command CommandFor(const AttemptId& attempt) const;
  // CommandNumber() returns CommandFor().number without copying the cluster spec. Tell() returns an action that sends
  // the command.
  int64_t CommandNumber(const AttemptId& attempt) const;
  SendCommand Tell(const AttemptId& attempt) const;

  JobState state() const { return state_; }
  Epoch epoch() const { return epoch_; }
  // A number that grows with every decision that changes what a client reads in the status.
  int64_t seq() const { return seq_; }
  bool Ended() const { return IsFinal(state_); }
  // The completed share of the tracked tasks: 0 to 1.
  double Progress() const;
  // True while no verdict has been decided, because tasks may still start, and while executors are running tasks or
  // stopping them.
  bool MayRunTasks() const;
  const JobSpec& spec() const { return spec_; }
  // The verdict, which the decision JobStopping sets; nullopt before that decision.
  const std::optional<Verdict>& verdict() const { return verdict_; }
  // Returns kNew for an attempt that was never made.
  AttemptState StateOf(const AttemptId& attempt) const;
  std::optional<AttemptId> AttemptIn(const ContainerId& container) const;
  const CheckpointListing& listing() const { return checkpoints_.listing(); }
  JobStatus Snapshot(const std::string& user, Instant submitted) const;
  const Ownership& ownership() const { return ownership_; }

  // Ends the process if two members contradict each other after a step. Tests and the simulator call this function
  // after each step. An AM in production does not, because the check walks through all attempts.
  void CheckInvariants() const;

 private:
  // ---- job_decide.cc: the decisions that follow from each observation
  Decided OnStarted(const AmStarted& seen, Instant now);
  Decided OnKill(const KillRequest& request, Instant now) const;
  JobStopping StopFor(const KillRequest& request) const;
  Decided OnAttach(const AttachRequested& seen, Instant now);
  Decided OnClientSeen(const ClientSeen& seen, Instant now);
  Decided OnRegister(const RegisterCall& call, Instant now);
  Decided OnHeartbeat(const HeartbeatCall& call, Instant now);
  Decided OnOutcome(const OutcomeCall& call, Instant now);
  Decided OnListing(const CheckpointsFound& seen) const;
  Decided OnCheckpoint(const CheckpointSearched& seen) const;
  Decided OnContainer(const ContainerEvent& seen);
  Decided OnGranted(const ContainerGranted& granted) const;
  Decided OnLaunched(const ContainerStarted& started) const;
  Decided OnExited(const ContainerExited& exited) const;
  Decided OnPreempting(const ContainerPreempting& notice);
  Decided OnReached(const SchedulerReached& reached) const;
  std::optional<Refusal> CheckCaller(const Caller& caller) const;
  // Checks the caller, and notes the time of the call.
  Decided Hear(const Caller& caller, Instant now);
  Outcome Explained(const Attempt& attempt, Outcome outcome) const;

  // ---- deadlines.cc: expired limits, and missed heartbeats
  Decided OnRenewed(Instant now);
  Decided OnTime(Instant now);
  std::optional<DecisionBody> ExpiredDeadline(Instant now) const;
  std::string LateRegistration(const AttemptId& id) const;
  std::optional<DecisionBody> OwnershipDecision(Instant now) const;
  std::vector<DecisionBody> MissedHeartbeats(Instant now) const;
  std::optional<Instant> NextSilence() const;
  // The time limit of the whole job; nullopt if the job has no limit, is not accepted yet, or has a verdict.
  std::optional<Instant> TimeLimit() const;
  Outcome Silence(const std::string& more = "") const;
  // Returns the names of the tasks without a container if `container` is true, otherwise of the tasks that have not
  // registered. The names are used in messages.
  std::string Missing(bool container) const;

  // ---- late_roles.cc: stages, and roles that start late
  Decided OnPublish(const PublishCall& call, Instant now);
  std::optional<DecisionBody> NextStage() const;
  // Returns the first attempts of the roles that no longer wait for another role's success.
  std::vector<AttemptId> AttemptsToOpen() const;
  std::optional<DecisionBody> NextRoles() const;
  bool IsReady(const RoleSpec& role) const;
  Outcome WithoutValues(const Attempt& attempt, Outcome outcome, OutcomeClass if_missing) const;
  std::string MissingValues() const;
  // True if the role is finished, or all its tasks have ended with a success or a tolerated failure.
  bool HasSucceeded(const std::string& role) const;
  // True if the role has succeeded and other roles had to wait for its success. Such a role never starts again, even if
  // the other roles restart.
  bool IsSettled(const std::string& role) const { return late_roles_.IsAwaited(role) && HasSucceeded(role); }
  // The number of tasks that have been requested, except tasks of roles for which IsSettled() is true.
  int GangSize() const;
  // IsFormed() returns whether the generation that the task would join has formed. HasFormed() also requires that the
  // attempt does not belong to a late start (Opening) that still waits for tasks.
  bool IsFormed(const TaskId& id) const;
  bool HasFormed(const Attempt& attempt) const;

  // ---- judgement.cc: which failure is judged, when, and what follows from it
  struct Outlived {
    Instant due;
    const RoleSpec* role;
    const OutliveLimit* rule;
  };
  std::optional<DecisionBody> Judge(Instant now) const;
  std::optional<DecisionBody> CompletionDecision() const;
  std::optional<Instant> NextJudgement() const;
  void ForEachUnsettled(const std::function<void(const AttemptId&, std::optional<Instant>)>& visit) const;
  std::optional<Instant> SettlesAt(const AttemptId& id) const;
  AttemptId FirstCauseOf(const AttemptId& id) const;
  bool IsBlamedOnTask(const Attempt& attempt) const;
  std::string SilentTasks(const Attempt& failed) const;
  std::string ProbableCause(const Attempt& failed) const;
  std::string TasksOnSameMachine(const Attempt& failed) const;
  EndedTask EndedAs(const AttemptId& id) const;
  EarlierFailures EarlierThan(const AttemptId& id) const;
  std::optional<Verdict> VerdictOn(const EndedTask& failed) const;
  // Some roles may run on only for a limited time after other roles have ended. Returns the role whose time expires
  // first; nullopt if no such time is running.
  std::optional<Outlived> NextOutlived() const;
  DecisionBody EndOf(const Outlived& outlived, Instant now) const;
  std::string HangReport(Instant now) const;

  // ---- restarts.cc: restarts, and the checkpoints that they resume from
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
  const Opening* StuckOpening() const { return state_ == JobState::kRunning ? late_roles_.Stuck(tasks_) : nullptr; }
  RestartDecided GiveBack(Instant now) const;
  RestartBegan Begin(const Restart& restart) const;
  Verdict WithoutProgress(const Restart& restart) const;
  std::optional<Instant> NextRestart() const;
  bool ConcernsTracked(const Restart& restart) const;
  // CanRenew() returns whether the executor of an ended attempt could run the task's next attempt. IsKept() returns
  // whether the executor waits for the next attempt, because a restart keeps it or because the failure is not judged
  // yet.
  bool CanRenew(const Attempt& ended) const;
  bool IsKept(const Attempt& ended) const;
  // Returns whether the container of an ended attempt is kept for a person. No task waits for such a container, except
  // that the job ends after it.
  bool IsHeldForShell(const Attempt& ended) const {
    return ended.held_until != Instant{} && containers_.IsHeld(ended.container);
  }
  // Returns the attempt whose container is kept for a person; null: none. At most one is kept at a time, the first that
  // failed.
  const Attempt* HeldForShell() const;
  std::optional<DecisionBody> EndOfHold() const;

  // ---- job_evolve.cc, judgement.cc, late_roles.cc, restarts.cc: the state changes that follow from each decision
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
  Result<Actions> Apply(const HeartbeatsReturned& d, Instant time);
  Result<Actions> Apply(const AttemptEnded& d, Instant time);
  Result<Actions> Apply(const ContainerKillOrdered& d, Instant time);
  Result<Actions> Apply(const ContainerEnded& d, Instant time);
  Result<Actions> Apply(const JobStopping& d, Instant time);
  Result<Actions> Apply(const GraceShortened& d, Instant time);
  Result<Actions> Apply(const JobEnded& d, Instant time);
  Result<Actions> Apply(const RestartDecided& d, Instant time);
  Result<Actions> Apply(const ListingStarted& d, Instant time);
  Result<Actions> Apply(const CheckpointsListed& d, Instant time);
  Result<Actions> Apply(const CheckpointSearchStarted& d, Instant time);
  Result<Actions> Apply(const CheckpointNoted& d, Instant time);
  Result<Actions> Apply(const RestartBegan& d, Instant time);
  Result<Actions> Apply(const AttemptStopping& d, Instant time);
  Result<Actions> Apply(const OwnerChanged& d, Instant time);
  Result<Actions> Apply(const WatcherChanged& d, Instant time);
  Result<Actions> Apply(const KillPlanned& d, Instant time);
  Result<Actions> Apply(const KillVoided& d, Instant time);
  Result<Actions> Apply(const ValuesPublished& d, Instant time);
  Result<Actions> Apply(const StageOpened& d, Instant time);
  Result<Actions> Apply(const RoleDetached& d, Instant time);
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
  void NoteInRestart(const Attempt& attempt, Instant time, Actions& actions);
  void NoteInOpening(const Attempt& attempt, Instant time, Actions& actions);
  // Returns true if the attempt joins the generation now. Otherwise it is held until its stage opens, or it is stopping.
  bool StartOrHold(Attempt& attempt, const ClusterSpecText& cluster, Instant time);
  void JoinGeneration(Attempt& attempt, const ClusterSpecText& cluster, Instant time);
  void StopAttempt(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void ShortenGrace(Attempt& attempt, Duration grace, Instant time, Actions& actions);
  void ReleaseExecutor(const Attempt& attempt, Instant leave_by, Actions& actions);
  // Keeps the container of a failed attempt for a person, if the job requests this. A container that is needed for the
  // next attempt is not kept.
  void HoldForShell(const AttemptId& id, bool is_restarted, Instant time);
  void ClearLimits(const ContainerId& id);
  void GiveUp(Attempt& attempt, Instant time);
  void ExtendGiveUp(Attempt& attempt, Instant heard);
  // Returns the cluster spec for the tasks of `stage`. `role` is set in FCFS mode, and for a role that waited for other
  // roles to be ready. If set, the cluster spec is for the tasks of this role.
  ClusterSpecText MakeClusterSpec(int stage = 0, const std::string& role = "") const;
  void AddTo(ClusterSpec& cluster, const TaskId& id, bool with_address, bool with_values) const;

  // ---- job.cc: commands, sums and the status
  // Returns the orders that a new AM has to repeat, because the previous AM may not have given them.
  Actions PendingActions() const;
  ContainerRequest AskFor(const AttemptId& id) const;
  // Returns the number of the attempt that the executor of `ended` runs next; 0: none.
  int NextIn(const Attempt& ended) const;
  bool IsTracked(const TaskId& id) const { return spec_.FindRole(id.role)->completion == Completion::kTracked; }
  bool IsFcfs() const { return spec_.mode == DistributedMode::kFcfs; }
  bool HasPlaces() const { return tasks_.CountInGang(AttemptState::kRequested) == 0; }
  // True if every task that takes part in forming the gang has registered.
  bool HasGathered() const;
  // True if the attempt's executor has to send heartbeats.
  bool OwesHeartbeats(const Attempt& attempt) const;
  bool AnyWatched() const;
  // CanRun() is true if the attempt has received START and has not reported that its process runs. MayReport() is true
  // if the attempt has registered, or was stopped before it could register.
  bool CanRun(const Attempt& attempt) const;
  bool MayReport(const Attempt& attempt) const;
  CheckpointStatus SnapshotOfCheckpoints() const;
  std::string WhatWaits(const RoleSpec& role, const Task& task) const;
  std::string UrlOf(std::string_view role) const;
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
  // True if the scheduler confirms the end of each container. AmStarted sets the value, which is not journalled.
  bool ends_are_confirmed_ = false;
};

CoreStepResult RunCoreStep(Job& job, const Observation& observation, Instant now);

}  // namespace tony::am
