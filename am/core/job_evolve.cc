// What follows from a decision. Only Evolve(), here and in job_evolve_restart.cc, job_evolve_stages.cc and
// job_evolve_stop.cc, changes the state of a Job.
#include <algorithm>
#include <utility>

#include "am/core/evolve_parts.h"
#include "am/core/job.h"
#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/job/dependencies.h"

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
  // Two watchers would wake each other for ever.
  if (!std::holds_alternative<WatcherChanged>(decision.body)) ++seq_;
  return actions;
}

Result<Actions> Job::Apply(const EpochBegan& d, Instant time) {
  if (d.epoch <= epoch_) return Misfit(StrCat("epoch ", d.epoch.value, " after epoch ", epoch_.value));
  epoch_ = d.epoch;
  renewed_at_ = time;
  silence_check_ = time + spec_.timers.suspect_after;
  // Nobody is late because there was no AM to speak to.
  unplaced_since_ = time;
  stopping_.clear();
  for (auto& [id, task] : tasks_) {
    Attempt* attempt = task.newest();
    if (!attempt) continue;
    attempt->last_heard = time;
    if (attempt->state == AttemptState::kStopping && !attempt->container.value.empty()) {
      WatchStop(*attempt, std::max(attempt->stop_by, time + attempt->stop_grace + kLeaveLimit));
    }
  }
  for (const auto& [give_up_at, id] : std::exchange(silent_, {})) GiveUp(*Find(id), time);
  for (const auto& [leave_by, id] : std::exchange(leaving_, {})) {
    containers_.at(id).leave_by = time + kLeaveLimit;
    leaving_.emplace(time + kLeaveLimit, id);
  }
  if (listing_sought_) listing_sought_ = time;
  for (auto& [number, restart] : restarts_) {
    restart.confirm_by = time + kConfirmLimit;
    if (restart.sought) restart.sought = time;
  }
  return PendingActions();
}

Result<Actions> Job::Apply(const JobAccepted&, Instant time) {
  if (accepted_at_ != Instant{}) return Misfit("the job was accepted before");
  accepted_at_ = time;
  return Actions{};
}

Result<Actions> Job::Apply(const ContainerAssigned& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kAssign));
  if (!containers_.emplace(d.container, Container{.attempt = d.attempt}).second) return Misfit(d.container.value);
  attempt->container = d.container;
  attempt->host = d.host;
  unplaced_.erase(d.attempt);
  unplaced_since_ = time;
  allocating_.erase({attempt->allocate_by, d.attempt});
  attempt->register_by = time + spec_.registration_timeout;
  registering_.emplace(attempt->register_by, d.attempt);
  ++containers_left_;
  if (Opening* opening = OpeningOf(*attempt)) {
    ++opening->placed;
    --opening->unplaced;
  }
  return Actions{LaunchExecutor{d.attempt, d.container}};
}

Result<Actions> Job::Apply(const GangAllocated&, Instant) {
  TRY(Step(JobStep::kAllocated));
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptLaunched& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kLaunch));
  const Instant limit = time + spec_.registry_timeout;
  if (spec_.registry_timeout.count() == 0 || limit >= attempt->register_by) return Actions{};
  registering_.erase({attempt->register_by, d.attempt});
  attempt->register_by = limit;
  attempt->since_launch = true;
  registering_.emplace(limit, d.attempt);
  return Actions{};
}

Result<Actions> Job::Apply(const AttemptRegistered& d, Instant time) {
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kRegister));
  attempt->endpoint = d.endpoint;
  attempt->ports = d.ports;
  attempt->last_heard = time;
  registering_.erase({attempt->register_by, d.attempt});
  if (!silence_check_) silence_check_ = time + spec_.timers.suspect_after;
  Actions actions;
  Arrive(*attempt, time, actions);
  ArriveFirst(*attempt, time, actions);
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
  for (auto& [id, task] : tasks_) {
    if (!task.newest()) continue;
    Attempt& attempt = *task.newest();
    const bool waits = attempt.state == AttemptState::kRegistered && attempt.generation.value == 0;
    if (waits) StartOrHold(attempt, IsFcfs() ? MakeClusterSpec(0, id.role) : cluster, time);
    if (spec_.FindRole(id.role)->outlives_restarts) beside_.insert(id);
  }
  return TellAll();
}

// Tasks that do not wait for each other are told of those alone for which they wait, and each of itself where it is the
// only one of such a role.
Job::ClusterSpecText Job::MakeClusterSpec(int stage, const std::string& role) const {
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

// By its newest address: one that is being replaced is still known by the address it had. What has not been asked for,
// or is still to start together, nobody can know.
void Job::AddTo(ClusterSpec& cluster, const TaskId& id, bool with_address, bool with_values) const {
  const Task& task = tasks_.at(id);
  if (!task.newest() || openings_.contains(task.newest()->opening)) return;
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
  TRY_ASSIGN(Attempt* const attempt, Step(d.attempt, AttemptStep::kRun));
  attempt->pid = d.pid;
  attempt->started = last_begin_[d.attempt.task.role] = time;
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
  TRY(StepTask(d.attempt.task, TaskStep::kEnd));
  attempt->outcome = d.outcome;
  attempt->reported = d.reported;
  attempt->ended = last_end_[d.attempt.task.role] = time;
  attempt->suspect = false;
  attempt->pid = 0;
  last_ended_ = d.attempt;
  unplaced_.erase(d.attempt);
  withdrawn_.erase(d.attempt);
  allocating_.erase({attempt->allocate_by, d.attempt});
  registering_.erase({attempt->register_by, d.attempt});
  silent_.erase({attempt->give_up_at, d.attempt});
  StopAwaiting(*attempt);
  if (tasks_.at(d.attempt.task).state == TaskState::kDone) {
    const RoleSpec& role = *spec_.FindRole(d.attempt.task.role);
    if (d.outcome.Succeeded()) {
      ++ends_[role.name].succeeded;
    } else if (role.CountsFailures() && !finished_.contains(role.name)) {
      failed_.emplace(time, d.attempt);
    }
  }
  Actions actions;
  Arrive(*attempt, time, actions);
  ArriveFirst(*attempt, time, actions);
  Restart* restart = RestartOf(d.attempt.task);
  if (restart) restart->ending.erase(d.attempt.task);
  if (attempt->container.value.empty()) return actions;
  StopWatching(attempt->container);
  if (IsHeld(*attempt)) return actions;
  if (restart) AwaitGone(*restart, *attempt, time);
  // One that has not reported has had its time.
  LetGo(*attempt, d.reported ? time + kLeaveLimit : time, actions);
  return actions;
}

Result<Actions> Job::Apply(const ContainerEnded& d, Instant) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state == ContainerState::kGone) return Misfit(d.container.value);
  StopWatching(d.container);
  found->second.state = ContainerState::kGone;
  --containers_left_;
  for (auto& [number, restart] : restarts_) restart.unconfirmed.erase(d.container);
  return Actions{};
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

Status Job::StepTask(const TaskId& id, TaskStep step) {
  Task& task = tasks_.at(id);
  const auto next = Next(task.state, step);
  if (!next) return Misfit(StrCat(ToString(id), " is ", ToString(task.state)));
  done_[id.role] += (*next == TaskState::kDone) - (task.state == TaskState::kDone);
  task.state = *next;
  return Ok();
}

// `how`: from New to what it begins as.
Result<Job::Attempt*> Job::MakeAttempt(const AttemptId& id, AttemptStep how, Instant time) {
  const auto found = tasks_.find(id.task);
  if (found == tasks_.end()) return Misfit(StrCat("no task ", ToString(id.task)));
  Task& task = found->second;
  const Attempt* last = task.newest();
  if (id.number != static_cast<int>(task.attempts.size()) + 1 || (last && !IsFinal(last->state)))
    return Misfit(ToString(id));
  TRY(StepTask(id.task, TaskStep::kRequest));
  const int restart = std::exchange(task.restart, 0);
  const int opening_number = last ? last->opening : 0;
  if (last) --counts_[static_cast<size_t>(last->state)];
  Attempt& attempt =
      task.attempts.emplace_back(Attempt{.id = id, .restart = restart, .opening = opening_number, .last_heard = time});
  ++counts_[static_cast<size_t>(AttemptState::kNew)];
  AwaitValues(id);
  last_begin_[id.task.role] = time;
  Opening* opening = OpeningOf(attempt);
  if (opening && how == AttemptStep::kRequest) ++opening->unplaced;
  if (how == AttemptStep::kRenew) {
    attempt.register_by = time + spec_.registration_timeout;
    registering_.emplace(attempt.register_by, id);
  } else if (spec_.allocation_timeout.count() > 0) {
    attempt.allocate_by = time + spec_.allocation_timeout;
    allocating_.emplace(attempt.allocate_by, id);
  }
  return Step(id, how);
}

Status Job::Step(JobStep step) {
  const auto next = Next(state_, step);
  if (!next) return Misfit(StrCat("the job is ", ToString(state_)));
  state_ = *next;
  return Ok();
}

Job::Restart* Job::RestartOf(const TaskId& id) { return FindRestart(tasks_.at(id).restart); }

Job::Restart* Job::FindRestart(int number) {
  const auto found = restarts_.find(number);
  return found == restarts_.end() ? nullptr : &found->second;
}

void Job::Move(Attempt& attempt, AttemptState to) {
  --counts_[static_cast<size_t>(attempt.state)];
  ++counts_[static_cast<size_t>(to)];
  attempt.state = to;
}

}  // namespace tony::am
