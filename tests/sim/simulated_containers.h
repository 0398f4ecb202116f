// The containers of the job on their nodes, with an executor in each, and what schedulers make of them. The keeper is
// their parent: while it is gone they go on unseen. Does what runtime/keeper/containers.cc does, and tells the
// lies of other schedulers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/job/scheduler_events.h"
#include "tests/sim/simulated_executor.h"
#include "tests/sim/simulated_scheduler.h"

namespace tony::sim {

class SimulatedContainers {
 public:
  SimulatedContainers(Stage& stage, Network& network, SimulatedKeeper& keeper, Flaw flaw);

  // ---- the keeper's
  void Adopt();  // by a new keeper
  void Launch(const AttemptId& attempt, const ContainerId& id);
  void Stop(const ContainerId& id, StopMode mode);
  void KillAll();
  bool AnyLeft() const;
  Inventory List() const;

  void LeaseChanged();

  // ---- faults: of the container that a task has now, if any
  SimulatedExecutor* ExecutorOf(const TaskId& task);
  void Apply(const KillExecutor& fault);
  void Apply(const CutNetwork& fault);
  void Apply(const EndContainer& fault);
  void Apply(const Preempt& fault);
  void Apply(const LoseNode& fault);
  void Apply(const LieAboutEnd& fault);
  void Apply(const DoubtEnd& fault);

 private:
  enum class State { kLaunching, kRunning, kSweeping, kEnded };
  struct Container {
    State state = State::kLaunching;
    std::unique_ptr<SimulatedExecutor> executor;  // none: it never was launched
    ContainerExited exited;
    bool adopted = false;     // how it ends will not be seen
    bool said_ended = false;  // a lie
    bool doubted = false;     // out of the scheduler's reach
    Instant silent_until{};   // its node is
    Instant swept_since{};
  };
  using Place = std::map<ContainerId, Container>::iterator;

  void Begin(const ContainerId& id, bool fails);
  void Left(const ContainerId& id, ExitStatus exit);
  void OnLeft(const ContainerId& id, std::optional<ExitStatus> exit);
  void Kill(const ContainerId& id);
  void Sweep(const ContainerId& id);
  void End(const ContainerId& id);
  void TellEnd(const ContainerId& id);
  void WhenHeard(const ContainerId& id, std::function<void()> what);
  bool IsSilent(const Container& container) const { return stage_.time.now() < container.silent_until; }
  std::optional<ContainerId> Of(const TaskId& task) const;

  Stage& stage_;
  Network& network_;
  SimulatedKeeper& keeper_;
  Random random_;
  const Flaw flaw_;
  std::map<ContainerId, Container> containers_;
  std::map<TaskId, int> launches_;
  int last_port_ = 20'000;
};

}  // namespace tony::sim
