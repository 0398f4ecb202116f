#include "tests/unit/am/gang_world.h"

#include <algorithm>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"

namespace tony::am {
namespace {

const Outcome kStopped{.cls = OutcomeClass::kKilled, .exit = ExitStatus{ExitStatus::Kind::kSignaled, 15}};

Phase PhaseOf(bool running, bool ended) {
  if (ended) return Phase::kEnded;
  return running ? Phase::kRunning : Phase::kWaiting;
}

const Caller* CallerIn(const Observation& observation) {
  if (const auto* call = std::get_if<RegisterCall>(&observation)) return &call->caller;
  if (const auto* call = std::get_if<AwaitCall>(&observation)) return &call->caller;
  if (const auto* call = std::get_if<HeartbeatCall>(&observation)) return &call->caller;
  if (const auto* call = std::get_if<PublishCall>(&observation)) return &call->caller;
  if (const auto* call = std::get_if<OutcomeCall>(&observation)) return &call->caller;
  return nullptr;
}

}  // namespace

void GangWorld::Perform(const Actions& actions) {
  for (const Action& action : actions) {
    std::visit(
        Overloaded{
            [&](const RequestContainers& a) {
              for (const ContainerRequest& ask : a.asks) asks_[ask.attempt] = {StrCat("c", ++granted_)};
            },
            [&](const WithdrawRequests& a) {
              for (const AttemptId& attempt : a.attempts)
                // Every second withdrawn request is granted anyway.
                if (granted_ % 2 == 0) asks_.erase(attempt);
            },
            [&](const LaunchExecutor& a) { executors_.try_emplace(a.container, Executor{.attempt = a.attempt}); },
            [&](const StopContainer& a) { Stop(a.container, a.mode); },
            [](const SendCommand&) {},  // executors fetch commands by themselves
            [&](const ListCheckpoints&) { lists_ = true; },
            [&](const SearchCheckpoint& a) { looks_.insert(a.restart); },
            [&](const EndJob&) { job_ended_ = true; },
        },
        action);
  }
}

// Stops a container. A container that was not launched never starts, and its end is reported like any other.
void GangWorld::Stop(const ContainerId& id, StopMode mode) {
  const auto [found, never_launched] = executors_.try_emplace(id, Executor{.state = State::kGone});
  Executor& executor = found->second;
  if (mode == StopMode::kTerm && IsSilent(executor)) return;
  if (mode == StopMode::kTerm && executor.state == State::kRunning) {
    executor.state = State::kEnded;
    executor.outcome = kStopped;
    return;
  }
  if (executor.state == State::kWaiting) executor.outcome = kStopped;
  executor.state = State::kGone;
}

std::optional<Observation> GangWorld::Next(const Job& job) {
  std::vector<Observation> choices;
  AddScheduler(choices);
  for (const auto& [id, executor] : executors_) {
    AddExecutor(job, id, executor, choices);
    const int64_t number = job.CommandNumber(executor.attempt);
    // Number 0 means that the attempt's next command is not decided yet.
    took_back_ |= number > 0 && number < executor.since;
  }
  if ((choices.empty() || Uniform(8) == 0) && EndSomeTask()) return Next(job);
  if (choices.empty()) return std::nullopt;
  return choices[static_cast<size_t>(Uniform(static_cast<int64_t>(choices.size())))];
}

void GangWorld::AddScheduler(std::vector<Observation>& choices) const {
  for (const auto& [attempt, container] : asks_)
    choices.emplace_back(ContainerEvent{ContainerGranted{attempt, container, ToString(attempt.task)}});
  for (const auto& [id, executor] : executors_) AddScheduler(id, executor, choices);
  if (lists_) choices.emplace_back(CheckpointsFound{});
  for (const int restart : looks_) choices.push_back(Look(restart));
}

void GangWorld::AddScheduler(const ContainerId& id, const Executor& executor, std::vector<Observation>& choices) const {
  const auto add = [&](SchedulerEvent event) { choices.emplace_back(ContainerEvent{std::move(event)}); };
  if (executor.state == State::kGone && !executor.exit_told) {
    ContainerExited exited{id, {}, "", {}};
    if (executor.outcome) exited.kept = KeptOutcome{executor.attempt, *executor.outcome};
    add(std::move(exited));
  }
  if (executor.state != State::kGone && !executor.start_told) add(ContainerStarted{id});
  const bool wanted = executor.state == State::kRunning && plan_.preempted.contains(executor.attempt);
  if (wanted && !executor.notice_given) add(ContainerPreempting{id, Duration(5000)});
}

Observation GangWorld::Look(int restart) const {
  const int step = std::min(looked_ + 1, plan_.checkpoints);
  if (step == 0) return CheckpointSearched{restart, std::nullopt};
  return CheckpointSearched{restart, Checkpoint{StrCat("/checkpoints/step-", step), step}};
}

void GangWorld::AddExecutor(const Job& job, const ContainerId& id, const Executor& executor,
                            std::vector<Observation>& choices) const {
  if (executor.state == State::kGone || IsSilent(executor)) return;
  const Caller caller = CallerOf(id, executor);
  const bool runs = executor.state == State::kRunning;
  const bool ended = executor.state == State::kEnded;
  if (executor.master != job.epoch()) {
    const Endpoint endpoint{"127.0.0.1", 4000 + executor.attempt.task.index};
    choices.emplace_back(RegisterCall{caller, {endpoint, PhaseOf(runs, ended), 100}});
    return;
  }
  if (job.CommandFor(executor.attempt).number > executor.since) choices.emplace_back(AwaitCall{caller});
  if (runs && !executor.run_told) choices.emplace_back(HeartbeatCall{caller, {Phase::kRunning, 100}});
  const std::vector<std::string> names = ValueNames(job.spec(), executor.attempt.task);
  const bool may_publish = runs || (ended && executor.outcome->Succeeded());
  if (may_publish && !executor.published && !names.empty()) {
    choices.emplace_back(PublishCall{caller, {{names.front(), ToString(executor.attempt)}}});
    return;  // publish before the end is reported
  }
  if (ended && !executor.report_acknowledged) choices.emplace_back(OutcomeCall{caller, *executor.outcome});
}

void GangWorld::Answer(const Job& job, const Observation& observation, const std::optional<Refusal>& refusal) {
  if (const auto* event = std::get_if<ContainerEvent>(&observation)) {
    if (const auto* granted = std::get_if<ContainerGranted>(&event->event)) asks_.erase(granted->attempt);
    if (const auto* started = std::get_if<ContainerStarted>(&event->event))
      executors_.at(started->container).start_told = true;
    if (const auto* exited = std::get_if<ContainerExited>(&event->event))
      executors_.at(exited->container).exit_told = true;
    if (const auto* notice = std::get_if<ContainerPreempting>(&event->event))
      executors_.at(notice->container).notice_given = true;
    return;
  }
  if (std::holds_alternative<CheckpointsFound>(observation)) lists_ = false;
  if (const auto* seen = std::get_if<CheckpointSearched>(&observation)) {
    looks_.erase(seen->restart);
    ++looked_;
  }
  const Caller* caller = CallerIn(observation);
  if (!caller) return;
  Executor& executor = executors_.at(caller->container);
  if (refusal) return Refuse(executor, refusal->reason);
  if (std::holds_alternative<RegisterCall>(observation)) executor.master = job.epoch();
  if (std::holds_alternative<AwaitCall>(observation)) ExecuteCommand(executor, job.CommandFor(executor.attempt));
  if (std::holds_alternative<HeartbeatCall>(observation)) executor.run_told = true;
  if (std::holds_alternative<PublishCall>(observation)) executor.published = true;
  if (std::holds_alternative<OutcomeCall>(observation)) executor.report_acknowledged = true;
}

// An executor whose attempt was given up ends its task and leaves. Any other refusal may be temporary.
void GangWorld::Refuse(Executor& executor, RefusalReason reason) {
  executor.master = {};
  if (reason != RefusalReason::kStaleAttempt && reason != RefusalReason::kUnknownAttempt) return;
  if (!executor.outcome) executor.outcome = kStopped;
  executor.state = State::kGone;
}

void GangWorld::ExecuteCommand(Executor& executor, const Command& command) {
  executor.since = command.number;
  switch (command.kind) {
    case Command::Kind::kNone:
      return;
    case Command::Kind::kStart:
      if (executor.state == State::kWaiting) executor.state = State::kRunning;
      executor.generation = command.generation;
      return;
    case Command::Kind::kStop:
      if (executor.state == State::kEnded) return;
      executor.state = State::kEnded;
      executor.outcome = kStopped;
      return;
    case Command::Kind::kRelease:
      executor.state = State::kGone;
      return;
    case Command::Kind::kNext:
      if (executor.state == State::kEnded) Begin(executor, command.attempt);
      return;
  }
}

void GangWorld::Begin(Executor& executor, int attempt) {
  executor.attempt.number = attempt;
  executor.state = State::kWaiting;
  executor.outcome.reset();
  executor.since = 0;
  executor.master = {};
  executor.run_told = executor.published = executor.report_acknowledged = false;
}

const Outcome* GangWorld::EndOf(const AttemptId& attempt) const {
  if (const auto own = plan_.attempt_ends.find(attempt); own != plan_.attempt_ends.end()) return &own->second;
  const auto planned = plan_.ends.find(attempt.task);
  return planned == plan_.ends.end() ? nullptr : &planned->second;
}

// Ends a task whether its executor is frozen or not, because a task runs on when its executor stops responding.
bool GangWorld::EndSomeTask() {
  for (auto& [id, executor] : executors_) {
    const Outcome* end = EndOf(executor.attempt);
    if (executor.state != State::kRunning || !end) continue;
    executor.state = State::kEnded;
    executor.outcome = *end;
    return true;
  }
  return false;
}

std::vector<HeartbeatCall> GangWorld::Heartbeats(const Job& job) const {
  std::vector<HeartbeatCall> calls;
  for (const auto& [id, executor] : executors_) {
    const bool linked = executor.master == job.epoch() && executor.state != State::kGone && !IsSilent(executor);
    if (!linked) continue;
    const Phase phase = PhaseOf(executor.state == State::kRunning, executor.state == State::kEnded);
    calls.push_back({CallerOf(id, executor), {phase, 100}});
  }
  return calls;
}

void GangWorld::MasterDied() {
  asks_.clear();
  lists_ = false;
  looks_.clear();
  for (auto& [id, executor] : executors_) {
    executor.master = {};
    executor.start_told = executor.run_told = executor.exit_told = false;
  }
}

std::vector<ContainerId> GangWorld::Running() const {
  std::vector<ContainerId> running;
  for (const auto& [id, executor] : executors_) {
    if (executor.state != State::kGone) running.push_back(id);
  }
  return running;
}

bool GangWorld::IsSilent(const Executor& executor) const {
  return plan_.frozen.contains(executor.attempt) && executor.state == State::kRunning && executor.run_told;
}

Caller GangWorld::CallerOf(const ContainerId& id, const Executor& executor) const {
  return {.job = job_,
          .attempt = executor.attempt,
          .container = id,
          .generation = executor.generation,
          .epoch = executor.master};
}

}  // namespace tony::am
