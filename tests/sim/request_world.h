// A run under one request id in virtual time, with the real SubmitMachine and Ownership. Everything else is simulated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/request_actors.h"

namespace tony::sim {

class RequestWorld {
 public:
  explicit RequestWorld(const RequestPlan& plan, RequestFlaw flaw = RequestFlaw::kNone);
  void Run();
  const RequestHistory& history() const { return stage_.history; }

 private:
  void Look(const WatcherToken& watcher);
  void Recover();
  void Acknowledge();

  const RequestPlan plan_;
  RequestStage stage_;
  RequestStore store_;
  std::vector<std::unique_ptr<SubmitActor>> submits_;
  std::vector<std::unique_ptr<KillActor>> kills_;
};

// Runs the plan and returns a line for each thing that was wrong.
std::vector<std::string> ComplaintsAboutRequest(const RequestPlan& plan, RequestFlaw flaw = RequestFlaw::kNone);

}  // namespace tony::sim
