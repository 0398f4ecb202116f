// What follows from a decision: the only file that changes the state of a Job.
#include <algorithm>
#include <utility>

#include "am/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// An executor that has been told to leave, or whose grace is over, gets this long before its container is ended.
// Its own KILL, the reaping and one report fit in well under a second; the rest is for a busy machine.
constexpr Duration kLeaveLimit{5000};

AttemptStep StepOf(const Outcome& outcome, AttemptState from) {
  if (outcome.Succeeded()) return AttemptStep::kSucceed;
  const bool nobody_saw = outcome.cls == OutcomeClass::kNodeLost || outcome.cls == OutcomeClass::kInfra;
  if (from == AttemptState::kStopping) {
    return nobody_saw || outcome.cls == OutcomeClass::kKilled ? AttemptStep::kKill : AttemptStep::kFail;
  }
  return nobody_saw || outcome.cls == OutcomeClass::kPreempted ? AttemptStep::kLose : AttemptStep::kFail;
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

Error Misfit(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

}  // namespace

Result<Actions> Job::Evolve(const Decision& decision) {
  Result<Actions> actions = std::visit([&](const auto& body) { return Apply(body, decision.time); }, decision.body);
  if (!actions.ok()) return Annotate(actions.error(), StrCat("decision ", seq_ + 1, " (", Name(decision), ")"));
  ++seq_;
  return actions;
}

Result<Actions> Job::Apply(const EpochBegan& d, Instant time) {
  if (d.epoch <= epoch_) return Misfit(StrCat("epoch ", d.epoch.value, " after epoch ", epoch_.value));
  epoch_ = d.epoch;
  // Nobody is late because there was no AM to speak to.
  for (auto& [id, task] : tasks_) {
    if (task.newest()) task.newest()->last_heard = time;
  }
  renewed_at_ = time;
  silence_check_ = time + spec_.timers.suspect_after;
  stop_by_ = std::max(stop_by_, time + stop_grace_ + kLeaveLimit);
  for (const auto& [leave_by, id] : std::exchange(leaving_, {})) {
    containers_.at(id).leave_by = time + kLeaveLimit;
    leaving_.emplace(time + kLeaveLimit, id);
  }
  return PendingActions();
}

Result<Actions> Job::Apply(const JobAccepted&, Instant time) {
  if (accepted_at_ != Instant{}) return Misfit("the job was accepted before");
  accepted_at_ = time;
  return Actions{};
}

Result<Actions> Job::Apply(const ContainersRequested& d, Instant) {
  TRY(Step(JobStep::kRequest));
  RequestContainers request;
  for (const AttemptId& id : d.attempts) {
    const auto found = tasks_.find(id.task);
    if (found == tasks_.end()) return Misfit(StrCat("no task ", ToString(id.task)));
    Task& task = found->second;
    const auto next = Next(task.state, TaskStep::kRequest);
    if (!next || id.number != static_cast<int>(task.attempts.size()) + 1) return Misfit(ToString(id));
    task.state = *next;
    task.attempts.push_back({.id = id});
    ++counts_[static_cast<size_t>(AttemptState::kNew)];
    unplaced_.insert(id);
    TRY(Step(id, AttemptStep::kRequest));
    request.asks.push_back(AskFor(id));
  }
  return Actions{request};
}

Result<Actions> Job::Apply(const ContainerAssigned& d, Instant) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kAssign));
  if (!containers_.emplace(d.container, Container{.attempt = d.attempt}).second) return Misfit(d.container.value);
  attempt->container = d.container;
  attempt->host = d.host;
  unplaced_.erase(d.attempt);
  ++containers_left_;
  return Actions{LaunchExecutor{d.attempt, d.container}};
}

Result<Actions> Job::Apply(const GangAllocated&, Instant) {
  TRY(Step(JobStep::kAllocated));
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptLaunched& d, Instant) {
  TRY(Step(d.attempt, AttemptStep::kLaunch));
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptRegistered& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kRegister));
  attempt->endpoint = d.endpoint;
  attempt->last_heard = time;
  if (!silence_check_) silence_check_ = time + spec_.timers.suspect_after;
  return Actions{};
}

Result<Actions> Job::Apply(const GenerationFormed& d, Instant) {
  if (d.generation != generation_.Next()) return Misfit(StrCat("generation ", d.generation.value));
  if (Count(AttemptState::kRegistered) != static_cast<int>(tasks_.size()))
    return Misfit("not every task has registered");
  TRY(Step(JobStep::kForm));
  generation_ = d.generation;
  ClusterSpec cluster{.generation = generation_};
  for (const auto& [id, task] : tasks_) {
    cluster.roles[id.role].push_back(*task.newest()->endpoint);
  }
  cluster_spec_ = ToJson(cluster);
  return TellAll();
}

Result<Actions> Job::Apply(const AttemptRan& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kRun));
  attempt->pid = d.pid;
  attempt->started = time;
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptSuspected& d, Instant) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt) return Misfit(ToString(d.attempt));
  attempt->suspect = true;
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptHeard& d, Instant time) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt) return Misfit(ToString(d.attempt));
  attempt->suspect = false;
  const Instant next = time + spec_.timers.suspect_after;
  silence_check_ = silence_check_ ? std::min(*silence_check_, next) : next;
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptEnded& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, StepOf(d.outcome, StateOf(d.attempt))));
  attempt->outcome = d.outcome;
  attempt->ended = time;
  attempt->suspect = false;
  attempt->pid = 0;
  Task& task = tasks_.at(d.attempt.task);
  const auto next = Next(task.state, TaskStep::kEnd);
  if (!next) return Misfit(ToString(d.attempt));
  task.state = *next;
  last_ended_ = d.attempt;
  unplaced_.erase(d.attempt);
  const bool tracked = spec_.FindRole(d.attempt.task.role)->completion == Completion::kTracked;
  if (tracked && d.outcome.Succeeded()) ++tracked_successes_;
  if (attempt->container.value.empty()) return Actions{};
  Container& container = containers_.at(attempt->container);
  StopWatching(attempt->container);
  if (container.state == ContainerState::kHeld) {
    container.leave_by = time + kLeaveLimit;
    leaving_.emplace(container.leave_by, attempt->container);
  }
  return Actions{Tell(d.attempt)};
}

Result<Actions> Job::Apply(const ContainerKillOrdered& d, Instant) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state != ContainerState::kHeld) return Misfit(d.container.value);
  StopWatching(d.container);
  found->second.state = ContainerState::kKilling;
  return Actions{StopContainer{d.container, StopMode::kKill}};
}

Result<Actions> Job::Apply(const ContainerEnded& d, Instant) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state == ContainerState::kGone) return Misfit(d.container.value);
  StopWatching(d.container);
  found->second.state = ContainerState::kGone;
  --containers_left_;
  return Actions{};
}

Result<Actions> Job::Apply(const JobStopping& d, Instant time) {
  TRY(Step(JobStep::kStop));
  verdict_ = d.verdict;
  stop_grace_ = d.grace;
  stop_by_ = time + d.grace + kLeaveLimit;
  Actions actions;
  for (auto& [id, task] : tasks_) {
    Attempt* attempt = task.newest();
    if (attempt && !IsFinal(attempt->state)) StopAttempt(*attempt, actions);
  }
  return actions;
}

void Job::StopAttempt(Attempt& attempt, Actions& actions) {
  const auto next = Next(attempt.state, AttemptStep::kStop);
  CHECK(next.has_value());
  Move(attempt, *next);
  if (attempt.container.value.empty()) return;
  if (containers_.at(attempt.container).state == ContainerState::kHeld) stopping_held_.insert(attempt.container);
  actions.push_back(Tell(attempt.id));
  if (!attempt.endpoint) actions.push_back(StopContainer{attempt.container, StopMode::kTerm});
}

Result<Actions> Job::Apply(const StopHurried& d, Instant time) {
  if (state_ != JobState::kStopping) return Misfit("the job is not stopping");
  stop_grace_ = d.grace;
  stop_by_ = std::min(stop_by_, time + d.grace + kLeaveLimit);
  ++hurried_;
  return TellAll();
}

Result<Actions> Job::Apply(const JobEnded&, Instant time) {
  if (!verdict_) return Misfit("no verdict");
  TRY(Step(StepOf(verdict_->state)));
  ended_at_ = time;
  return Actions{EndJob{}};
}

Result<Job::Attempt*> Job::Step(const AttemptId& id, AttemptStep step) {
  Attempt* attempt = Find(id);
  if (!attempt) return Misfit(StrCat("no attempt ", ToString(id)));
  const auto next = Next(attempt->state, step);
  if (!next) return Misfit(StrCat(ToString(id), " is ", ToString(attempt->state)));
  Move(*attempt, *next);
  return attempt;
}

Status Job::Step(JobStep step) {
  const auto next = Next(state_, step);
  if (!next) return Misfit(StrCat("the job is ", ToString(state_)));
  state_ = *next;
  return Ok();
}

// Its executor no longer owes anything by a certain time.
void Job::StopWatching(const ContainerId& id) {
  stopping_held_.erase(id);
  leaving_.erase({containers_.at(id).leave_by, id});
}

void Job::Move(Attempt& attempt, AttemptState to) {
  --counts_[static_cast<size_t>(attempt.state)];
  ++counts_[static_cast<size_t>(to)];
  attempt.state = to;
}

}  // namespace tony::am
