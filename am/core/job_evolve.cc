// The state changes that follow from decisions. Only Evolve() changes the journalled state of a Job; its Apply()
// functions are here and in judgement.cc, late_roles.cc and restarts.cc.
#include <algorithm>
#include <utility>

#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/cluster_spec.h"

namespace tony::am {
namespace {

AttemptStep StepOf(const Outcome& outcome, AttemptState from) {
  if (outcome.Succeeded()) return AttemptStep::kSucceed;
  const bool never_ran = from == AttemptState::kAllocated || from == AttemptState::kLaunching;
  if (never_ran) return AttemptStep::kLose;
  const bool taken_away = WasTakenAway(outcome);
  if (from == AttemptState::kStopping) {
    return taken_away || outcome.cls == OutcomeClass::kKilled ? AttemptStep::kKill : AttemptStep::kFail;
  }
  return taken_away ? AttemptStep::kLose : AttemptStep::kFail;
}

JobStep StepOf(FinalState state) {
  switch (state) {
    case FinalState::kSucceeded:
      return JobStep::kSucceed;
    case FinalState::kFailed:
      return JobStep::kFail;
    case FinalState::kKilled:
      return JobStep::kKill;
  }
  return JobStep::kFail;
}

}  // namespace

Result<Actions> Job::Evolve(const Decision& decision) {
  Result<Actions> actions = std::visit([&](const auto& body) { return Apply(body, decision.time); }, decision.body);
  if (!actions.ok()) return Annotate(actions.error(), StrCat("decision ", seq_ + 1, " (", Name(decision), ")"));
  // WatcherChanged does not increase the number that wakes waiting clients. Otherwise two watchers would wake each
  // other for ever.
  if (!std::holds_alternative<WatcherChanged>(decision.body)) ++seq_;
  return actions;
}

Result<Actions> Job::Apply(const EpochBegan& d, Instant time) {
  if (d.epoch <= epoch_) return Misfit(StrCat("epoch ", d.epoch.value, " after epoch ", epoch_.value));
  epoch_ = d.epoch;
  // All limits start over, because executors could not report while no AM was running.
  deadlines_.LeaseRenewed(time);
  deadlines_.CheckSilenceAt(time + spec_.timers.suspect_after);
  containers_.RestartWait(time);
  for (auto& [id, task] : tasks_.all()) {
    Attempt* attempt = task.newest();
    if (!attempt) continue;
    attempt->last_heard = time;
    if (attempt->state == AttemptState::kStopping && !attempt->container.value.empty()) {
      deadlines_.SetStop(*attempt, containers_.at(attempt->container),
                         std::max(attempt->stop_by, time + attempt->stop_grace + kLeaveLimit));
    }
  }
  for (const auto& [give_up_at, id] : Deadlines::Queue<AttemptId>(deadlines_.all(Limit::kGiveUp)))
    GiveUp(*tasks_.Find(id), time);
  for (const auto& [leave_by, id] : Deadlines::Queue<ContainerId>(deadlines_.all(ContainerLimit::kLeave))) {
    Container& container = containers_.at(id);
    if (!IsHeldForShell(*tasks_.Find(container.attempt))) deadlines_.SetLeave(id, container, time + kLeaveLimit);
  }
  if (checkpoints_.listing_sought()) checkpoints_.SeekListing(time);
  for (auto& [number, restart] : restarts_.open()) {
    restart.confirm_by = time + kConfirmLimit;
    if (restart.sought) restart.sought = time;
  }
  return PendingActions();
}

Result<Actions> Job::Apply(const JobAccepted&, Instant time) {
  if (accepted_at_) return Misfit("the job was accepted before");
  accepted_at_ = time;
  return Actions{};
}

Result<Actions> Job::Apply(const ContainerAssigned& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Step(d.attempt, AttemptStep::kAssign));
  if (!containers_.Grant(d.container, d.attempt, time)) return Misfit(d.container.value);
  attempt->container = d.container;
  attempt->host = d.host;
  attempt->log_url = d.log_url;
  deadlines_.Clear(Limit::kAllocate, *attempt);
  deadlines_.Set(Limit::kRegister, *attempt, time + spec_.registration_timeout);
  return Actions{LaunchExecutor{d.attempt, d.container}};
}

Result<Actions> Job::Apply(const GangAllocated&, Instant) {
  TRY(Step(JobStep::kAllocated));
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptLaunched& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Step(d.attempt, AttemptStep::kLaunch));
  const Instant limit = time + spec_.registry_timeout;
  if (spec_.registry_timeout.count() == 0 || limit >= attempt->register_by) return Actions{};
  deadlines_.Set(Limit::kRegister, *attempt, limit);
  attempt->since_launch = true;
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptRegistered& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Step(d.attempt, AttemptStep::kRegister));
  attempt->endpoint = d.endpoint;
  attempt->ports = d.ports;
  attempt->last_heard = time;
  deadlines_.Clear(Limit::kRegister, *attempt);
  if (!deadlines_.silence_check()) deadlines_.CheckSilenceAt(time + spec_.timers.suspect_after);
  Actions actions;
  NoteInRestart(*attempt, time, actions);
  NoteInOpening(*attempt, time, actions);
  if (IsFcfs() && state_ == JobState::kRunning && StartOrHold(*attempt, MakeClusterSpec(0, d.attempt.task.role), time))
    actions.push_back(Tell(d.attempt));
  return actions;
}

Result<Actions> Job::Apply(const GenerationFormed& d, Instant time) {
  if (d.generation != generation_.Next()) return Misfit(StrCat("generation ", d.generation.value));
  if (!IsFcfs() && !HasGathered()) return Misfit("not every task has registered");
  TRY(Step(JobStep::kForm));
  generation_ = d.generation;
  const ClusterSpecText cluster = MakeClusterSpec();
  Actions actions;
  for (auto& [id, task] : tasks_.all()) {
    if (!task.newest()) continue;
    Attempt& attempt = *task.newest();
    if (attempt.generation.value == 0) StartOrHold(attempt, IsFcfs() ? MakeClusterSpec(0, id.role) : cluster, time);
    if (spec_.FindRole(id.role)->outlives_restarts) tasks_.Persist(id);
    if (!IsFinal(attempt.state)) actions.push_back(Tell(attempt.id));
  }
  return actions;
}

// In FCFS mode a task's cluster spec lists only the roles that the task depends on. The task itself is listed only if
// its role has a single task. In addition, its role must wait for other roles, or other roles must wait until its role
// is ready.
ClusterSpecText Job::MakeClusterSpec(int stage, const std::string& role) const {
  ClusterSpec cluster{.generation = generation_};
  const RoleSpec* reader = spec_.FindRole(role);
  for (const RoleSpec& other : spec_.roles) {
    const bool awaited = reader && std::ranges::count(reader->depends_on, other.name, &Dependency::role) > 0;
    const bool itself = other.name == role && other.instances == 1 &&
                        (!other.depends_on.empty() || IsAwaited(spec_, role, Dependency::Until::kReady));
    const bool with_values = awaited || IsSettled(other.name) || StageOf(spec_, other.name) < stage;
    const bool with_address = !IsFcfs() || ((awaited || itself) && !IsSettled(other.name));
    if (!with_values && !with_address) continue;
    for (int index = 0; index < other.instances; ++index)
      AddTo(cluster, {other.name, index}, with_address, with_values);
  }
  return std::make_shared<const std::string>(ToJson(cluster));
}

// Adds the newest known address of a task to the cluster spec. A task that is being replaced keeps the address of an
// earlier attempt. A task of a late role that has not started, and a task that has no attempt yet, are left out.
void Job::AddTo(ClusterSpec& cluster, const TaskId& id, bool with_address, bool with_values) const {
  const Task& task = tasks_.at(id);
  if (!task.newest() || late_roles_.Find(*task.newest())) return;
  const auto known = std::ranges::find_if(task.attempts.rbegin(), task.attempts.rend(),
                                          [](const Attempt& attempt) { return attempt.endpoint.has_value(); });
  if (known == task.attempts.rend()) return;
  const PublishedValues& values = task.newest()->values;
  if (with_values && !values.empty()) cluster.values[id] = values;
  if (!with_address) return;
  cluster.roles[id.role].push_back(*known->endpoint);
  if (!known->ports.empty()) cluster.ports[id] = known->ports;
  if (const int processes = spec_.ProcessesOf(id.role); processes > 1) cluster.processes[id.role] = processes;
}

Result<Actions> Job::Apply(const AttemptRan& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Step(d.attempt, AttemptStep::kRun));
  tasks_.Start(*attempt, d.pid, time);
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptSuspected& d, Instant) {
  Attempt* attempt = tasks_.Find(d.attempt);
  if (!attempt) return Misfit(ToString(d.attempt));
  attempt->suspect = true;
  return Actions{};
}

Result<Actions> Job::Apply(const HeartbeatsReturned& d, Instant time) {
  Attempt* attempt = tasks_.Find(d.attempt);
  if (!attempt) return Misfit(ToString(d.attempt));
  attempt->suspect = false;
  deadlines_.CheckSilenceBy(time + spec_.timers.suspect_after);
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptEnded& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Step(d.attempt, StepOf(d.outcome, StateOf(d.attempt))));
  TRY(tasks_.Step(d.attempt.task, TaskStep::kEnd));
  tasks_.End(*attempt, d.outcome, d.reported, time);
  results_.NoteEnd(d.attempt);
  containers_.Forget(d.attempt);
  deadlines_.Clear(*attempt);
  stages_.Release(spec_, d.attempt);
  if (tasks_.at(d.attempt.task).state == TaskState::kDone) {
    const RoleSpec& role = *spec_.FindRole(d.attempt.task.role);
    if (d.outcome.Succeeded()) {
      results_.NoteSuccess(role.name);
    } else if (role.CountsFailures() && !results_.IsFinished(role.name)) {
      results_.NoteFailure(*attempt);
    }
  }
  Actions actions;
  NoteInRestart(*attempt, time, actions);
  NoteInOpening(*attempt, time, actions);
  Restart* restart = restarts_.Find(tasks_.at(d.attempt.task).restart);
  if (restart) restart->ending.erase(d.attempt.task);
  if (attempt->container.value.empty()) return actions;
  ClearLimits(attempt->container);
  if (IsKept(*attempt)) return actions;
  if (restart) AwaitGone(*restart, *attempt, time);
  // An executor that did not report its outcome gets no extra time to exit.
  ReleaseExecutor(*attempt, d.reported ? time + kLeaveLimit : time, actions);
  return actions;
}

Result<Actions> Job::Apply(const ContainerEnded& d, Instant) {
  if (!containers_.Confirm(d.container)) return Misfit(d.container.value);
  ClearLimits(d.container);
  restarts_.ContainerGone(d.container);
  return Actions{};
}

Result<Actions> Job::Apply(const JobEnded&, Instant time) {
  if (!verdict_) return Misfit("no verdict");
  TRY(Step(StepOf(verdict_->state)));
  ended_at_ = time;
  return Actions{EndJob{}};
}

// `how` is the first transition of the attempt: kRequest or kRenew.
Result<Attempt*> Job::MakeAttempt(const AttemptId& id, AttemptStep how, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, tasks_.Add(id, how, time));
  stages_.AwaitValues(spec_, id.task);
  if (how == AttemptStep::kRenew) {
    deadlines_.Set(Limit::kRegister, *attempt, time + spec_.registration_timeout);
    return attempt;
  }
  containers_.Request(id);
  if (spec_.allocation_timeout.count() > 0) deadlines_.Set(Limit::kAllocate, *attempt, time + spec_.allocation_timeout);
  return attempt;
}

Status Job::Step(JobStep step) {
  const auto next = Next(state_, step);
  if (!next) return Misfit(StrCat("the job is ", ToString(state_)));
  state_ = *next;
  return Ok();
}

Result<Actions> Job::Apply(const ContainerKillOrdered& d, Instant time) {
  if (!containers_.OrderKill(d.container)) return Misfit(d.container.value);
  const Container& container = containers_.at(d.container);
  ClearLimits(d.container);
  Attempt& attempt = *tasks_.Find(container.attempt);
  const bool was_to_wait = IsFinal(attempt.state) && container.leave_by == Instant{};
  Restart* restart = restarts_.Find(tasks_.at(attempt.id.task).restart);
  if (restart && was_to_wait) AwaitGone(*restart, attempt, time);
  // While the job itself stops, the attempt needs no limit. Only the end of the job waits for the attempt, and the job
  // ends only after the scheduler has confirmed the end of each container.
  if (OwesHeartbeats(attempt) || (attempt.state == AttemptState::kStopping && !verdict_)) GiveUp(attempt, time);
  return Actions{StopContainer{d.container, StopMode::kKill}};
}

Result<Actions> Job::Apply(const JobStopping& d, Instant time) {
  TRY(Step(JobStep::kStop));
  verdict_ = d.verdict;
  stop_grace_ = d.grace;
  if (d.verdict.attempt) HoldForShell(*d.verdict.attempt, /*is_restarted=*/false, time);
  Actions actions;
  AbandonRestarts(time, actions);
  for (const auto& [ended, id] : results_.unjudged()) ReleaseExecutor(*tasks_.Find(id), time + kLeaveLimit, actions);
  for (auto& [id, task] : tasks_.all()) {
    Attempt* attempt = task.newest();
    if (!attempt || IsFinal(attempt->state)) continue;
    if (attempt->state == AttemptState::kStopping) {
      ShortenGrace(*attempt, d.grace, time, actions);
    } else {
      StopAttempt(*attempt, d.grace, time, actions);
    }
  }
  return actions;
}

Result<Actions> Job::Apply(const GraceShortened& d, Instant time) {
  if (state_ != JobState::kStopping) return Misfit("the job is not stopping");
  stop_grace_ = d.grace;
  Actions actions;
  for (auto& [id, task] : tasks_.all()) {
    Attempt* attempt = task.newest();
    if (attempt && attempt->state == AttemptState::kStopping) ShortenGrace(*attempt, d.grace, time, actions);
  }
  return actions;
}

Result<Actions> Job::Apply(const AttemptStopping& d, Instant time) {
  Attempt* attempt = tasks_.Find(d.attempt);
  if (!attempt || !Next(attempt->state, AttemptStep::kStop)) return Misfit(ToString(d.attempt));
  attempt->because = d.because;
  Actions actions;
  StopAttempt(*attempt, d.grace, time, actions);
  return actions;
}

Result<Actions> Job::Apply(const FailureTolerated& d, Instant time) {
  Attempt* attempt = tasks_.Find(d.attempt);
  if (!attempt || !attempt->ended || !results_.Tolerate(*attempt)) return Misfit(ToString(d.attempt));
  HoldForShell(d.attempt, /*is_restarted=*/false, time);
  Actions actions;
  ReleaseExecutor(*attempt, time + kLeaveLimit, actions);
  return actions;
}

Result<Actions> Job::Apply(const RoleFinished& d, Instant time) {
  if (!spec_.FindRole(d.role) || !results_.Finish(d.role)) return Misfit(d.role);
  Actions actions;
  auto& all = tasks_.all();
  for (auto task = all.lower_bound({d.role, 0}); task != all.end() && task->first.role == d.role; ++task) {
    AbandonRestartOf(task->first, time, actions);
    Attempt* attempt = task->second.newest();
    if (!attempt || IsFinal(attempt->state)) continue;
    attempt->because = Outcome{.cls = OutcomeClass::kKilled, .message = d.reason};
    if (attempt->state != AttemptState::kStopping) StopAttempt(*attempt, d.grace, time, actions);
  }
  return actions;
}

Result<Actions> Job::Apply(const OwnerChanged& d, Instant) {
  TRY(ownership_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const WatcherChanged& d, Instant) {
  TRY(ownership_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const KillPlanned& d, Instant) {
  TRY(ownership_.Apply(d));
  return Actions();
}

Result<Actions> Job::Apply(const KillVoided& d, Instant) {
  TRY(ownership_.Apply(d));
  return Actions();
}

void Job::StopAttempt(Attempt& attempt, Duration grace, Instant time, Actions& actions) {
  CHECK(tasks_.Step(attempt.id, AttemptStep::kStop).ok());
  attempt.stops = 1;
  attempt.stop_grace = grace;
  for (const Limit limit : {Limit::kAllocate, Limit::kRegister, Limit::kPublish}) deadlines_.Clear(limit, attempt);
  stages_.Release(spec_, attempt.id);
  if (attempt.container.value.empty()) {
    containers_.Withdraw(attempt.id);
    auto* others = actions.empty() ? nullptr : std::get_if<WithdrawRequests>(&actions.back());
    if (!others) others = &std::get<WithdrawRequests>(actions.emplace_back(WithdrawRequests{}));
    others->attempts.push_back(attempt.id);
    return;
  }
  deadlines_.SetStop(attempt, containers_.at(attempt.container), time + grace + kLeaveLimit);
  actions.push_back(Tell(attempt.id));
  if (!attempt.endpoint && !attempt.renewed) actions.push_back(StopContainer{attempt.container, StopMode::kTerm});
}

void Job::ShortenGrace(Attempt& attempt, Duration grace, Instant time, Actions& actions) {
  if (grace >= attempt.stop_grace || attempt.container.value.empty()) return;
  attempt.stop_grace = grace;
  ++attempt.stops;
  deadlines_.SetStop(attempt, containers_.at(attempt.container), std::min(attempt.stop_by, time + grace + kLeaveLimit));
  actions.push_back(Tell(attempt.id));
}

// Clears both limits of the container: for the end of its attempt, and for the exit of its executor.
void Job::ClearLimits(const ContainerId& id) {
  const Container& container = containers_.at(id);
  deadlines_.Clear(id, container, *tasks_.Find(container.attempt));
}

// Sends the executor its newest command, and limits the time for its exit. No new limit is set if the executor has one
// already, or if its container is being killed.
void Job::ReleaseExecutor(const Attempt& attempt, Instant leave_by, Actions& actions) {
  if (attempt.container.value.empty() || IsHeldForShell(attempt)) return;
  Container& container = containers_.at(attempt.container);
  actions.push_back(Tell(attempt.id));
  if (container.state != ContainerState::kHeld || deadlines_.IsLeaving(attempt.container, container)) return;
  deadlines_.SetLeave(attempt.container, container, leave_by);
}

// The restarted task of a job on one machine needs the GPUs of its container again, because the job has no others.
void Job::HoldForShell(const AttemptId& id, bool is_restarted, Instant time) {
  Attempt* attempt = tasks_.Find(id);
  if (spec_.hold == Duration(0) || !attempt || !attempt->outcome || attempt->outcome->Succeeded()) return;
  if (is_restarted && spec_.FindRole(id.task.role)->resources.gpus > 0) return;
  if (!CanRenew(*attempt) || HeldForShell()) return;
  attempt->held_until = time + spec_.hold;
  deadlines_.SetLeave(attempt->container, containers_.at(attempt->container), attempt->held_until);
}

void Job::GiveUp(Attempt& attempt, Instant time) {
  // An attempt that is being stopped may have called a moment ago. An executor that is cut off from the AM stops by
  // itself only after `lost_after`. Therefore the limit is at least that long.
  const bool was_silent = attempt.state != AttemptState::kStopping;
  const Duration limit = was_silent ? kConfirmLimit : std::max(kConfirmLimit, spec_.timers.lost_after);
  deadlines_.Set(Limit::kGiveUp, attempt, time + limit);
}

// Extends the limit, because the executor has called, so it is alive. If the executor is cut off from the AM, it runs
// on for `lost_after`. The order to kill its container may not have been sent yet, because the AM sends no orders while
// it cannot write the journal.
void Job::ExtendGiveUp(Attempt& attempt, Instant heard) {
  const Duration limit = std::max(kConfirmLimit, spec_.timers.lost_after);
  deadlines_.Set(Limit::kGiveUp, attempt, std::max(attempt.give_up_at, heard + limit));
}

// Makes the restart wait for the end of the container, because the executor is known to be dead only when its container
// has ended.
void Job::AwaitGone(Restart& restart, const Attempt& ended, Instant time) {
  if (ended.container.value.empty() || containers_.at(ended.container).state == ContainerState::kGone) return;
  // The executor has reported the end of the attempt, and gets no next one.
  if (IsHeldForShell(ended)) return;
  // The AM has already waited for this container until the limit, so it does not wait again.
  if (ended.give_up_at != Instant{} && time >= ended.give_up_at) return;
  restart.unconfirmed.insert(ended.container);
  restart.confirm_by = std::max(restart.confirm_by, time + kConfirmLimit);
}

}  // namespace tony::am
