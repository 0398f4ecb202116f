// What the AM does in the world after its decisions are journalled.
#pragma once

#include <variant>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/scheduler/scheduler.h"

namespace tony::am {

struct RequestContainers {
  std::vector<ContainerAsk> asks;
};
struct LaunchExecutor {
  AttemptId attempt;
  ContainerId container;
};
struct StopContainer {
  ContainerId container;
  StopMode mode = StopMode::kTerm;
};
struct TellExecutor {
  AttemptId attempt;
};                 // its command has changed: answer its parked Await
struct EndJob {};  // write the verdict, release the scheduler, leave

using Action = std::variant<RequestContainers, LaunchExecutor, StopContainer, TellExecutor, EndJob>;
using Actions = std::vector<Action>;

}  // namespace tony::am
