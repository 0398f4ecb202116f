// The containers of the job on their nodes, each with an executor, and the reports of schedulers about them. Their
// parent is the keeper; while it is down they run on and are not watched. Does what runtime/keeper/containers.cc does,
// and sends the false reports of other schedulers.
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

  // ---- calls of the keeper
  void Adopt();  // A new keeper adopts the containers.
  void Launch(const AttemptId& attempt, const ContainerId& id);
  void Stop(const ContainerId& id, StopMode mode);
  void KillAll();
  bool AnyLeft() const;
  Inventory List();

  void LeaseChanged();

  // ---- faults of the container that a task has now, if any
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
    std::unique_ptr<SimulatedExecutor> executor;  // null: it was never launched
    ContainerExited exited;
    // The exit status of an adopted container stays unknown.
    bool adopted = false;
    bool said_ended = false;  // falsely reported as ended
    bool doubted = false;     // The scheduler cannot reach the container.
    Instant silent_until{};   // its node is silent until then
    Instant swept_since{};
  };
  using Place = std::map<ContainerId, Container>::iterator;

  void Begin(const ContainerId& id, bool fails);
  void Left(const ContainerId& id, ExitStatus exit);
  void OnLeft(const ContainerId& id, std::optional<ExitStatus> exit);
  void StopNow(const ContainerId& id, StopMode mode);
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
