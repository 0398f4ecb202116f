// What a master asks its scheduler for, and what the scheduler reports: values that the pure core decides on.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony {

struct ContainerAsk {
  AttemptId attempt;  // who the container is for; what tasks of one role ask for is the same
  Resources resources;
  std::string node_label;  // the nodes that will do, in the words of the scheduler's administrator; empty: any
  Placement placement = Placement::kPack;
};

// What to start in a container: the executor of an attempt. How that is done is the scheduler's affair.
struct ExecutorLaunch {
  AttemptId attempt;
  Resources resources;  // what the container may use
};

struct ContainerGranted {
  AttemptId attempt;
  ContainerId container;
  std::string host;
  std::string log_url = {};  // where its node shows the logs of the attempt; empty: nowhere
};
struct ContainerStarted {
  ContainerId container;
};
// What an executor left of its attempt's end. Its container may have been given to the next attempt since it was read.
struct KeptOutcome {
  AttemptId attempt;
  Outcome outcome;
};
// The executor is gone and nothing that it started is left, except what `left` says. No status: nobody was there to see
// it, or it never ran, or its node ended it for a reason of its own, and then `error` says why. Told for every
// container that was launched or stopped, once. Before that it may be told as uncertain: the scheduler does not reach
// the node any more, on which the executor may live and still speak to its AM.
struct ContainerExited {
  ContainerId container;
  std::optional<ExitStatus> status;
  std::string error;  // "start /x/tony-executor: permission denied"; empty where it just ended
  // What the scheduler knows of the reason: node_lost, preempted, oom, killed... Nothing: it just ended.
  std::optional<OutcomeClass> cls;
  std::optional<KeptOutcome> kept = {};  // where the scheduler can see that
  bool certain = true;
  // Something of it lives on that cannot be ended, and `error` names it: nothing may begin beside it.
  bool left = false;
};
// The scheduler will take the container away; its task may use the time to save what it has.
struct ContainerPreempting {
  ContainerId container;
  Duration notice{0};
};
// What was requested waits for its turn, and for what. Told again when that changes; "": it is over.
struct ContainersDelayed {
  std::string reason;  // "waits for 8192 MB of memory: 4096 of 24000 MB are free; 1 job is before it"
};
// First event after the scheduler has been reached, also again: what it knows to be running.
struct SchedulerReached {
  std::vector<ContainerId> running;
};
// The arbiter has not been reached for am_lease: stop ruling until SchedulerReached.
struct SchedulerLost {
  std::string reason;
};
using SchedulerEvent = std::variant<ContainerGranted, ContainerStarted, ContainerExited, ContainerPreempting,
                                    ContainersDelayed, SchedulerReached, SchedulerLost>;

enum class StopMode { kTerm, kKill };  // ask the executor to stop its task and leave; end all of it now

}  // namespace tony
