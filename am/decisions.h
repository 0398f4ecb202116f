// What the AM made of what it saw: the journal's content. A decision says what is so from now on; how it was come by
// (policy, timers, budgets) is not in it, so a later release replays it whatever its own policy would be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"

namespace tony::am {

struct EpochBegan {
  Epoch epoch;
};                      // an AM took over
struct JobAccepted {};  // once, by the first AM
struct ContainersRequested {
  std::vector<AttemptId> attempts;
};
struct ContainerAssigned {
  AttemptId attempt;
  ContainerId container;
  std::string host;
};
struct GangAllocated {};  // every task has its container
struct AttemptLaunched {
  AttemptId attempt;
};
struct AttemptRegistered {
  AttemptId attempt;
  Endpoint endpoint;
};
struct GenerationFormed {
  Generation generation;
};  // the barrier opened: cluster spec = the endpoints known now
struct AttemptRan {
  AttemptId attempt;
  int64_t pid = 0;
};
struct AttemptSuspected {
  AttemptId attempt;
};  // heartbeats are missing
struct AttemptHeard {
  AttemptId attempt;
};  // and are back
struct AttemptEnded {
  AttemptId attempt;
  Outcome outcome;
};
struct ContainerKillOrdered {
  ContainerId container;
};
struct ContainerEnded {
  ContainerId container;
};
struct JobStopping {
  Verdict verdict;
  Duration grace{0};
};  // everybody is told to stop; this is how it will have ended
struct StopHurried {
  Duration grace{0};
};                   // a shorter grace than before
struct JobEnded {};  // nothing of the job is left but its files

using DecisionBody =
    std::variant<EpochBegan, JobAccepted, ContainersRequested, ContainerAssigned, GangAllocated, AttemptLaunched,
                 AttemptRegistered, GenerationFormed, AttemptRan, AttemptSuspected, AttemptHeard, AttemptEnded,
                 ContainerKillOrdered, ContainerEnded, JobStopping, StopHurried, JobEnded>;

struct Decision {
  Instant time;
  DecisionBody body;
};

std::string_view Name(const Decision& decision);  // "container_assigned"

// Whether the decision must survive a power cut before anyone hears of it. To survive the AM it is enough that it is
// written, and what all but the last one start does not outlive this machine's power either: only how the job ended
// does. A journal for executors on other machines has to sync every append.
bool MustBeDurable(const Decision& decision);

// One line of JSON: {"time":...,"decision":"container_assigned",...}.
std::string ToJson(const Decision& decision);
Result<Decision> DecisionFromJson(std::string_view json);

}  // namespace tony::am
