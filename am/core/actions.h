// What the AM does in the world after its decisions are journalled.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/job/scheduler_events.h"

namespace tony::am {

struct RequestContainers {
  std::vector<ContainerAsk> asks;
};
struct WithdrawRequests {
  std::vector<AttemptId> attempts;
};
struct LaunchExecutor {
  AttemptId attempt;
  ContainerId container;
};
struct StopContainer {
  ContainerId container;
  StopMode mode = StopMode::kTerm;
};
// Its command has changed: answer its parked Await with command `number`, unless a later turn, which may not be on the
// disk yet, has changed it again; that turn tells it then.
struct TellExecutor {
  AttemptId attempt;
  int64_t number = 0;
  int next = 0;             // the attempt that a NEXT names: within a generation all of them have one number
  std::string resume_from;  // of a START, which has its number still when a newer checkpoint is noted
  friend bool operator==(const TellExecutor&, const TellExecutor&) = default;
};
struct ListCheckpoints {};  // answer with CheckpointsThere
struct LookForCheckpoint {
  int restart = 0;
};                 // answer with CheckpointSeen
struct EndJob {};  // write the verdict, release the scheduler, leave

using Action = std::variant<RequestContainers, WithdrawRequests, LaunchExecutor, StopContainer, TellExecutor,
                            ListCheckpoints, LookForCheckpoint, EndJob>;
using Actions = std::vector<Action>;

}  // namespace tony::am
