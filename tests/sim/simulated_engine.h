// What workflow engines and their watchers ask of the job: each asks again until an AM has answered or the job is over.
#pragma once

#include <functional>
#include <string>

#include "tests/sim/simulated_am.h"

namespace tony::sim {

class SimulatedEngine {
 public:
  // `am`: the AM that lives, or nullptr. `over`: nobody will answer any more.
  SimulatedEngine(Stage& stage, std::function<SimulatedAm*()> am, std::function<bool()> over)
      : stage_(stage), am_(std::move(am)), over_(std::move(over)) {}
  void Apply(const Fault& fault);

 private:
  using Question = std::function<void(SimulatedAm& am, std::function<void()> answered)>;
  void Attach(const Claim& claim);
  void Look(const WatcherToken& watcher);
  void Ask(const Question& question);

  Stage& stage_;
  std::function<SimulatedAm*()> am_;
  std::function<bool()> over_;
};

}  // namespace tony::sim
