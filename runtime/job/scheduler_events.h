// Requests of the AM to its scheduler, and events that the scheduler reports. They are values on which the AM's pure
// core decides.
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

struct ContainerRequest {
  // The attempt that gets the container. All tasks of a role request equal containers.
  AttemptId attempt;
  Resources resources;
  // The label of nodes that may run the container, as the scheduler's administrator has named it. Empty: any node.
  std::string node_label;
  Placement placement = Placement::kPack;
  // RoleSpec::placement_spec, YarnSpec::placement_spec and RoleSpec::allocation_tags.
  std::string placement_spec = {}, job_placement_spec = {};
  std::vector<std::string> allocation_tags = {};
};

// A request to start the executor of an attempt in a container. The scheduler decides how to start it.
struct ExecutorLaunch {
  AttemptId attempt;
  Resources resources;  // resources that the container may use
};

struct ContainerGranted {
  AttemptId attempt;
  ContainerId container;
  std::string host;
  // The web page with the attempt's logs on its node. Empty if the node has no such page.
  std::string log_url = {};
};
struct ContainerStarted {
  ContainerId container;
};
// The outcome that an executor left when its attempt ended. `attempt` names that attempt, because the container may run
// the next attempt by now.
struct KeptOutcome {
  AttemptId attempt;
  Outcome outcome;
};
// The executor has exited, and no process that it started is left, unless `left` is set. `status` is not set in three
// cases: the exit was not observed; the executor never ran; or the node ended the executor for a reason of the node,
// which is in `error`. The event is reported once for every container that was launched or stopped. An earlier event
// with `certain` = false may come first. In that case the scheduler cannot reach the node. The executor may still run
// on the node and call its AM.
struct ContainerExited {
  ContainerId container;
  std::optional<ExitStatus> status;
  // The reason why the executor ended, e.g. "start /x/tony-executor: permission denied". Empty: no special reason is
  // known.
  std::string error;
  // The kind of this reason, if the scheduler knows it: node_lost, preempted, oom, killed, ... Not set if no special
  // reason is known.
  std::optional<OutcomeClass> cls;
  // The outcome that the executor left. Not set if the scheduler cannot read such an outcome.
  std::optional<KeptOutcome> kept = {};
  bool certain = true;
  // True: a process of the container cannot be ended, and `error` names it. No new attempt may start next to that
  // process.
  bool left = false;
};
// The scheduler will take the container away after the time `notice`. Until then, its task may save its state.
struct ContainerPreempting {
  ContainerId container;
  Duration notice{0};
};
// Requested containers are not granted yet. The event is reported again when the reason changes.
struct ContainersPending {
  // The pending reason, e.g. "waits for 8192 MB of memory: 4096 of 24000 MB are free; 1 job is before it". Empty: the
  // wait is over.
  std::string reason;
};
// The first event after the AM has reached its scheduler, also after a lost connection. The event lists the containers
// that the scheduler knows to be running.
struct SchedulerReached {
  std::vector<ContainerId> running;
};
// For the time am_lease, the AM could not reach its arbiter, which confirms the AM as leader. The AM does not lead
// until the next SchedulerReached.
struct SchedulerLost {
  std::string reason;
};
using SchedulerEvent = std::variant<ContainerGranted, ContainerStarted, ContainerExited, ContainerPreempting,
                                    ContainersPending, SchedulerReached, SchedulerLost>;

// kTerm requests that the executor stops its task and exits. kKill ends all of its processes at once.
enum class StopMode { kTerm, kKill };

}  // namespace tony
