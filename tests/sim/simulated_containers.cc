#include "tests/sim/simulated_containers.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/strings.h"
#include "tests/sim/simulated_keeper.h"

namespace tony::sim {
namespace {

constexpr Duration kChildNotice{3};  // delay to notice a child's end
constexpr Duration kSweepAgain{10};
constexpr Duration kSlowestLie{3'000};
// for processes that SIGKILL does not end
constexpr Duration kPatience{10'000};

}  // namespace

SimulatedContainers::SimulatedContainers(Stage& stage, Network& network, SimulatedKeeper& keeper, Flaw flaw)
    : stage_(stage), network_(network), keeper_(keeper), random_(stage.random.Fork()), flaw_(flaw) {}

void SimulatedContainers::Adopt() {
  for (auto& [id, container] : containers_) {
    if (container.state == State::kEnded) continue;
    container.adopted = true;
    const bool is_gone = container.state != State::kLaunching && !container.executor->alive();
    if (is_gone) OnLeft(id, std::nullopt);
  }
}

void SimulatedContainers::Launch(const AttemptId& attempt, const ContainerId& id) {
  const auto known = containers_.find(id);
  if (known != containers_.end()) {
    if (known->second.state == State::kEnded) return TellEnd(id);
    return keeper_.Report(ContainerStarted{id});
  }
  Container& container = containers_[id];
  container.exited.container = id;
  container.executor = std::make_unique<SimulatedExecutor>(stage_, network_, attempt, id, ++last_port_, flaw_);
  keeper_.Report(ContainerStarted{id});
  const TaskPlan& plan = stage_.plan.tasks.at(attempt.task);
  const bool fails = ++launches_[attempt.task] <= plan.launches_failing;
  stage_.time.After(plan.launch, [this, id, fails] { Begin(id, fails); });
}

void SimulatedContainers::Begin(const ContainerId& id, bool fails) {
  Container& container = containers_.at(id);
  if (container.state != State::kLaunching) return;
  container.state = State::kRunning;
  if (fails) {
    container.executor->Die();
    return Left(id, {ExitStatus::Kind::kExited, 1});
  }
  container.executor->Begin([this, id](int code) { Left(id, {ExitStatus::Kind::kExited, code}); });
}

// While the keeper is down no process sees the end.
void SimulatedContainers::Left(const ContainerId& id, ExitStatus exit) {
  keeper_.Later(random_.Between(Duration(0), kChildNotice), [this, id, exit] { OnLeft(id, exit); });
}

void SimulatedContainers::OnLeft(const ContainerId& id, std::optional<ExitStatus> exit) {
  Container& container = containers_.at(id);
  if (container.state == State::kEnded) return;
  container.state = State::kSweeping;
  if (!container.adopted) container.exited.status = exit;
  WhenHeard(id, [this, id] { Sweep(id); });
}

void SimulatedContainers::WhenHeard(const ContainerId& id, std::function<void()> what) {
  const Container& container = containers_.at(id);
  if (!IsSilent(container)) return what();
  keeper_.Later(container.silent_until - stage_.time.now(), std::move(what));
}

void SimulatedContainers::Stop(const ContainerId& id, StopMode mode) {
  const auto [place, is_new] = containers_.try_emplace(id);
  Container& container = place->second;
  if (is_new) {
    container.exited = {id, std::nullopt, "the container was stopped before its launch", std::nullopt};
    return End(id);
  }
  if (container.doubted) {
    return keeper_.Later(stage_.plan.spec.timers.lost_after, [this, id] { TellEnd(id); });
  }
  if (container.state == State::kEnded) return TellEnd(id);
  const Duration slowest = stage_.plan.scheduler.slowest_stop;
  if (slowest > Duration(0)) {
    return keeper_.Later(random_.Between(Duration(0), slowest), [this, id, mode] { StopNow(id, mode); });
  }
  StopNow(id, mode);
}

void SimulatedContainers::StopNow(const ContainerId& id, StopMode mode) {
  Container& container = containers_.at(id);
  if (container.doubted) return Stop(id, mode);
  if (container.state == State::kEnded) return;
  if (IsSilent(container)) return WhenHeard(id, [this, id, mode] { StopNow(id, mode); });
  if (mode == StopMode::kKill) return Kill(id);
  if (container.state == State::kRunning) container.executor->Terminate();
  if (container.state == State::kLaunching) {
    // The executor has not installed its signal handler yet.
    container.state = State::kRunning;
    container.executor->Die();
    Left(id, {ExitStatus::Kind::kSignaled, SIGTERM});
  }
}

void SimulatedContainers::Kill(const ContainerId& id) {
  Container& container = containers_.at(id);
  if (container.state != State::kLaunching && container.state != State::kRunning) return;
  if (!container.executor->alive()) return;  // its end will be noticed soon
  container.state = State::kRunning;
  container.executor->Die();
  Left(id, {ExitStatus::Kind::kSignaled, SIGKILL});
}

void SimulatedContainers::KillAll() {
  for (auto& [id, container] : containers_) Kill(id);
}

void SimulatedContainers::Sweep(const ContainerId& id) {
  Container& container = containers_.at(id);
  if (container.state != State::kSweeping) return;
  if (!container.executor->AnythingLeft()) return End(id);
  if (container.swept_since == Instant()) container.swept_since = stage_.time.now();
  const Duration patience = flaw_ == Flaw::kWaitsForWhatStays ? std::chrono::minutes(5) : kPatience;
  if (stage_.time.now() - container.swept_since >= patience) {
    container.exited.error = "process 7 of another user cannot be ended";
    container.exited.left = true;
    return End(id);
  }
  container.executor->SignalAll(SIGKILL);
  keeper_.Later(kSweepAgain, [this, id] { Sweep(id); });
}

void SimulatedContainers::End(const ContainerId& id) {
  Container& container = containers_.at(id);
  container.state = State::kEnded;
  stage_.Add(ContainerGone{id});
  if (!container.doubted) TellEnd(id);
  keeper_.Proceed();
}

void SimulatedContainers::TellEnd(const ContainerId& id) {
  const ContainerExited& exited = containers_.at(id).exited;
  stage_.Add(ContainerToldGone{id});
  keeper_.Report(exited);
  if (!stage_.MayFail() || !random_.Chance(stage_.plan.scheduler.told_twice)) return;
  keeper_.Later(random_.Between(Duration(0), kSlowestLie), [this, exited] { keeper_.Report(Again{exited}); });
}

bool SimulatedContainers::AnyLeft() const {
  return std::ranges::any_of(containers_, [](const auto& entry) { return entry.second.state != State::kEnded; });
}

// Some running containers may be missing; they are reported later.
Inventory SimulatedContainers::List() {
  Inventory inventory;
  for (const auto& [id, container] : containers_) {
    if (container.doubted) continue;
    if (container.state == State::kEnded || container.said_ended) {
      inventory.exited.push_back(container.exited);
    } else if (stage_.MayFail() && random_.Chance(stage_.plan.scheduler.listed_late)) {
      keeper_.Later(random_.Between(Duration(0), kSlowestLie), [this, id = id] {
        if (containers_.at(id).state != State::kEnded) keeper_.Report(ContainerStarted{id});
      });
    } else {
      inventory.running.push_back(id);
    }
  }
  return inventory;
}

void SimulatedContainers::LeaseChanged() {
  for (const auto& [id, container] : containers_) {
    if (container.state == State::kRunning && !IsSilent(container)) container.executor->LeaseChanged();
  }
}

// ---- faults

std::optional<ContainerId> SimulatedContainers::Of(const TaskId& task) const {
  for (const auto& [id, container] : containers_) {
    const bool lives = container.state == State::kLaunching || container.state == State::kRunning;
    if (lives && container.executor->alive() && container.executor->task() == task) return id;
  }
  return std::nullopt;
}

SimulatedExecutor* SimulatedContainers::ExecutorOf(const TaskId& task) {
  const auto id = Of(task);
  if (!id || containers_.at(*id).state != State::kRunning) return nullptr;
  return containers_.at(*id).executor.get();
}

void SimulatedContainers::Apply(const KillExecutor& fault) {
  if (const auto id = Of(fault.task)) Kill(*id);
}

void SimulatedContainers::Apply(const CutNetwork& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  network_.Cut(*id, fault.length, fault.direction);
  if (fault.store_too) containers_.at(*id).executor->CutStore(fault.length);
}

void SimulatedContainers::Apply(const EndContainer& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  containers_.at(*id).exited.cls = fault.cls;
  Kill(*id);
}

void SimulatedContainers::Apply(const Preempt& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  stage_.Add(PreemptionTold{*id});
  keeper_.Report(ContainerPreempting{*id, fault.notice});
  keeper_.Later(fault.notice, [this, id = *id] {
    Container& container = containers_.at(id);
    if (container.state == State::kEnded) return;
    container.exited.cls = OutcomeClass::kPreempted;
    Kill(id);
  });
}

void SimulatedContainers::Apply(const LoseNode& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  Container& container = containers_.at(*id);
  stage_.Note(StrCat("node of ", id->value, " is lost for ", fault.told_after.count(), " ms"));
  container.silent_until = stage_.time.now() + fault.told_after;
  container.exited.cls = OutcomeClass::kNodeLost;
  network_.Cut(*id, fault.told_after);
  container.executor->CutStore(fault.told_after);
  if (fault.dies) {
    Kill(*id);
    container.executor->SignalAll(SIGKILL);
  }
  keeper_.Later(fault.told_after, [this, id = *id] { Kill(id); });
}

void SimulatedContainers::Apply(const DoubtEnd& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  Container& container = containers_.at(*id);
  container.doubted = true;
  container.exited.cls = OutcomeClass::kNodeLost;
  container.exited.error = "the node was lost";
  stage_.Note(StrCat("nobody knows whether ", id->value, " has ended"));
  ContainerExited doubt = container.exited;
  doubt.certain = false;
  keeper_.Report(doubt);
}

void SimulatedContainers::Apply(const LieAboutEnd& fault) {
  const auto id = Of(fault.task);
  if (!id) return;
  Container& container = containers_.at(*id);
  container.exited.cls = OutcomeClass::kNodeLost;
  container.said_ended = true;
  TellEnd(*id);
  stage_.time.After(fault.overlap, [this, id = *id] { Kill(id); });
}

}  // namespace tony::sim
