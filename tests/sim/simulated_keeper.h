// The keeper and the containers behind it: parent of the job's AM and executors. It never fails.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/simulated_am.h"
#include "tests/sim/simulated_executor.h"

namespace tony::sim {

class SimulatedKeeper {
 public:
  SimulatedKeeper(Stage& stage, Network& network, Flaw flaw);

  void Begin();  // starts the first AM
  bool finished() const { return finished_; }
  const CrashPlan& crashes() const { return crashes_; }
  void Apply(const Fault& fault);

  // The AM's side.
  void Hello(Epoch epoch);
  void Request(Epoch epoch, const std::vector<ContainerAsk>& asks);
  void Order(const Ordered& order);
  void AmEnded(Epoch epoch);
  void Changed();  // a file in the job's folder

 private:
  enum class State { kLaunching, kRunning, kSweeping, kGone };
  struct Container {
    State state = State::kLaunching;
    std::unique_ptr<SimulatedExecutor> executor;  // none: it never was launched
    std::optional<ExitStatus> exit;
  };

  void StartAm(Duration delay);
  void Grant(Epoch epoch, const AttemptId& attempt, Duration delay);
  void Take(const Ordered& order);
  void Launch(const ContainerId& id, const AttemptId& attempt);
  void Run(const ContainerId& id);
  void Terminate(const ContainerId& id);
  void Kill(const ContainerId& id);
  void ExecutorLeft(const ContainerId& id, ExitStatus exit);
  void Sweep(const ContainerId& id);
  void Gone(const ContainerId& id);
  void Finish();
  void Report(SchedulerEvent event);
  SimulatedExecutor* ExecutorOf(const TaskId& task);

  Stage& stage_;
  Network& network_;
  Random random_;
  CrashPlan crashes_;
  const Flaw flaw_;
  Epoch epoch_;
  Duration back_off_{0};
  std::vector<std::unique_ptr<SimulatedAm>> ams_;  // the last one rules
  Epoch connected_;                                // the AM that has said hello
  std::map<ContainerId, Container> containers_;
  std::map<ContainerId, AttemptId> granted_;
  int last_port_ = 20'000;
  Instant orders_until_, reports_until_;  // nothing overtakes
  bool finished_ = false;
};

}  // namespace tony::sim
