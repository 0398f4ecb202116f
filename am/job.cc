#include "am/job.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

// An executor that has been told to leave, or whose grace is over, gets this long before its container is ended.
// Its own KILL, the reaping and one report fit in well under a second; the rest is for a busy machine.
constexpr Duration kLeaveLimit{5000};

// Numbers of commands grow with the generation, and within one from start to stop to release.
constexpr int64_t kCommandsPerGeneration = 1000;
constexpr int64_t kRelease = kCommandsPerGeneration - 1;

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

void Append(Actions& to, Actions from) { to.insert(to.end(), from.begin(), from.end()); }

Error Misfit(const std::string& what) { return Error{ErrorCode::kInvalid, what}; }

}  // namespace

Job::Job(JobId id, JobSpec spec) : id_(std::move(id)), spec_(std::move(spec)) {
  for (const RoleSpec& role : spec_.roles) {
    for (int index = 0; index < role.instances; ++index) tasks_[TaskId{role.name, index}];
  }
}

Result<Actions> Job::Evolve(const Decision& decision) {
  Result<Actions> actions = std::visit([&](const auto& body) { return Apply(body, decision.time); }, decision.body);
  if (!actions.ok()) return Annotate(actions.error(), StrCat("decision ", seq_ + 1, " (", Name(decision), ")"));
  ++seq_;
  return actions;
}

Result<Actions> Job::Apply(const EpochBegan& d, Instant time) {
  if (d.epoch <= epoch_) return Misfit(StrCat("epoch ", d.epoch.value, " after epoch ", epoch_.value));
  epoch_ = d.epoch;
  for (auto& [id, task] : tasks_) {
    if (task.newest()) task.newest()->last_heard = time;
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
  return Actions{};
}

Result<Actions> Job::Apply(const GenerationFormed& d, Instant) {
  if (d.generation != generation_.Next()) return Misfit(StrCat("generation ", d.generation.value));
  TRY(Step(JobStep::kForm));
  generation_ = d.generation;
  ClusterSpec cluster{.generation = generation_};
  for (const auto& [id, task] : tasks_) {
    cluster.roles[id.role].push_back(task.newest()->endpoint.value_or(Endpoint{}));
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

Result<Actions> Job::Apply(const AttemptHeard& d, Instant) {
  Attempt* attempt = Find(d.attempt);
  if (!attempt) return Misfit(ToString(d.attempt));
  attempt->suspect = false;
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
  containers_.at(attempt->container).leave_by = time + kLeaveLimit;
  return Actions{TellExecutor{d.attempt}};
}

Result<Actions> Job::Apply(const ContainerKillOrdered& d, Instant) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state != ContainerState::kHeld) return Misfit(d.container.value);
  found->second.state = ContainerState::kKilling;
  return Actions{StopContainer{d.container, StopMode::kKill}};
}

Result<Actions> Job::Apply(const ContainerEnded& d, Instant) {
  const auto found = containers_.find(d.container);
  if (found == containers_.end() || found->second.state == ContainerState::kGone) return Misfit(d.container.value);
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
  actions.push_back(TellExecutor{attempt.id});
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

Actions Job::PendingActions() const {
  Actions actions;
  RequestContainers request;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (!attempt) continue;
    if (attempt->state == AttemptState::kRequested) request.asks.push_back(AskFor(attempt->id));
    if (attempt->state == AttemptState::kAllocated) actions.push_back(LaunchExecutor{attempt->id, attempt->container});
    if (attempt->state == AttemptState::kStopping && !attempt->container.value.empty() && !attempt->endpoint) {
      actions.push_back(StopContainer{attempt->container, StopMode::kTerm});
    }
  }
  if (!request.asks.empty()) actions.push_back(request);
  for (const auto& [id, container] : containers_) {
    if (container.state == ContainerState::kKilling) actions.push_back(StopContainer{id, StopMode::kKill});
  }
  if (Ended()) actions.push_back(EndJob{});
  return actions;
}

Actions Job::TellAll() const {
  Actions actions;
  for (const auto& [id, task] : tasks_) {
    const Attempt* attempt = task.newest();
    if (attempt && !IsFinal(attempt->state)) actions.push_back(TellExecutor{attempt->id});
  }
  return actions;
}

Command Job::CommandFor(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  if (!attempt) return {};
  const int64_t base = generation_.value * kCommandsPerGeneration;
  if (IsFinal(attempt->state)) return {.number = base + kRelease, .kind = Command::Kind::kRelease};
  if (attempt->state == AttemptState::kStopping) {
    const int64_t number = base + 1 + std::min<int64_t>(hurried_, kRelease - 2);
    return {.number = number, .kind = Command::Kind::kStop, .generation = generation_, .grace = stop_grace_};
  }
  if (generation_.value == 0) return {};
  return {.number = base, .kind = Command::Kind::kStart, .generation = generation_, .cluster_spec = cluster_spec_};
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

ContainerAsk Job::AskFor(const AttemptId& id) const {
  const RoleSpec* role = spec_.FindRole(id.task.role);
  CHECK(role != nullptr);
  return {id, role->resources};
}

Job::Attempt* Job::Find(const AttemptId& id) { return const_cast<Attempt*>(std::as_const(*this).Find(id)); }

const Job::Attempt* Job::Find(const AttemptId& id) const {
  const auto found = tasks_.find(id.task);
  if (found == tasks_.end()) return nullptr;
  const auto& attempts = found->second.attempts;
  if (id.number < 1 || id.number > static_cast<int>(attempts.size())) return nullptr;
  return &attempts[static_cast<size_t>(id.number) - 1];
}

AttemptState Job::StateOf(const AttemptId& id) const {
  const Attempt* attempt = Find(id);
  return attempt ? attempt->state : AttemptState::kNew;
}

std::optional<AttemptId> Job::AttemptIn(const ContainerId& container) const {
  const auto found = containers_.find(container);
  if (found == containers_.end()) return std::nullopt;
  return found->second.attempt;
}

void Job::Move(Attempt& attempt, AttemptState to) {
  --counts_[static_cast<size_t>(attempt.state)];
  ++counts_[static_cast<size_t>(to)];
  attempt.state = to;
}

std::optional<Instant> Job::LeaveBy(const Container& container) const {
  if (container.state != ContainerState::kHeld) return std::nullopt;
  if (container.leave_by) return container.leave_by;
  if (StateOf(container.attempt) == AttemptState::kStopping) return stop_by_;
  return std::nullopt;
}

bool Job::IsWatched(const Attempt& attempt) const {
  return attempt.state == AttemptState::kRegistered || attempt.state == AttemptState::kRunning;
}

TurnResult TakeTurn(Job& job, const Observation& observation, Instant now) {
  TurnResult turn;
  const auto evolve = [&](DecisionBody body) {
    Decision decision{now, std::move(body)};
    Result<Actions> actions = job.Evolve(decision);
    CHECK(actions.ok());  // Decide() and Consequence() only say what fits the state.
    Append(turn.actions, *std::move(actions));
    turn.decisions.push_back(std::move(decision));
  };
  Decided decided = job.Decide(observation, now);
  turn.refusal = std::move(decided.refusal);
  for (DecisionBody& body : decided.decisions) evolve(std::move(body));
  // What was seen and changed nothing has no consequences either: a heartbeat costs a look-up.
  while (!turn.decisions.empty()) {
    auto body = job.Consequence();
    if (!body) break;
    evolve(*std::move(body));
  }
  Append(turn.actions, std::move(decided.actions));
  return turn;
}

}  // namespace tony::am
