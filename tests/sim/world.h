// One run of a job from its submission to its end.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/simulated_keeper.h"

namespace tony::sim {

class World {
 public:
  explicit World(const Plan& plan, Flaw flaw = Flaw::kNone, bool with_trace = false);

  void Run();  // until the job is over, or its limit has passed

  const History& history() const { return stage_.history; }
  const Coverage& coverage() const { return stage_.coverage; }
  const CrashPlan& crashes() const { return keeper_.crashes(); }
  const std::optional<Verdict>& status() const { return stage_.disk.status; }

 private:
  Stage stage_;
  Network network_;
  SimulatedKeeper keeper_;
};

// Runs `plan` and says what is wrong with its history.
std::vector<std::string> ComplaintsAbout(const Plan& plan, Flaw flaw = Flaw::kNone, Coverage* coverage = nullptr);

}  // namespace tony::sim
