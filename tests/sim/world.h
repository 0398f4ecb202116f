// A run of a job from its submission to its end.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tests/sim/simulated_keeper.h"

namespace tony::sim {

class World {
 public:
  explicit World(const Plan& plan, Flaw flaw = Flaw::kNone, bool with_trace = false, std::ostream* echo = nullptr);

  // Runs until the job is over or its limit has passed.
  void Run();

  const History& history() const { return stage_.history; }
  // Returns the coverage of a run that is over.
  Coverage coverage() const;
  const CrashPlan& crashes() const { return keeper_.crashes(); }
  const std::optional<Verdict>& status() const { return stage_.disk.status; }

 private:
  Stage stage_;
  Network network_;
  SimulatedKeeper keeper_;
};

// Runs `plan` and returns what is wrong with its history.
std::vector<std::string> ComplaintsAbout(const Plan& plan, Flaw flaw = Flaw::kNone, Coverage* coverage = nullptr);

}  // namespace tony::sim
