// The decisions of the AM, which are the content of the journal. A decision states what is true from then on. It does
// not contain the policy, timers or budgets that led to it, so a later release with another policy can still replay it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony {

// An AM became leader.
struct EpochBegan {
  Epoch epoch;
};
// The job is accepted, by its first AM. A journal has this decision once.
struct JobAccepted {};
// The AM requests the first containers of roles. A later record of this kind covers roles that had to wait for the
// success of others.
struct ContainersRequested {
  std::vector<AttemptId> attempts;
};
struct ContainerAssigned {
  AttemptId attempt;
  ContainerId container;
  std::string host;
  // The web page with the container's logs on its node. Empty if the node has no such page.
  std::string log_url = {};
};
// The gang is complete: every task has a container.
struct GangAllocated {};
struct AttemptLaunched {
  AttemptId attempt;
};
struct AttemptRegistered {
  AttemptId attempt;
  Endpoint endpoint;
  NamedPorts ports = {};
};
// The barrier opened. The cluster spec of this generation has the endpoints that are known at this moment.
struct GenerationFormed {
  Generation generation;
};
struct AttemptRan {
  AttemptId attempt;
  int64_t pid = 0;
};
// The attempt's heartbeats have stopped arriving.
struct AttemptSuspected {
  AttemptId attempt;
};
// The attempt's heartbeats arrive again.
struct HeartbeatsReturned {
  AttemptId attempt;
};
struct AttemptEnded {
  AttemptId attempt;
  Outcome outcome;
  // True if the executor reported the end of its program and still runs.
  bool reported = false;
};
struct ContainerKillOrdered {
  ContainerId container;
};
struct ContainerEnded {
  ContainerId container;
};
// All attempts are requested to stop. `verdict` becomes the result of the job.
struct JobStopping {
  Verdict verdict;
  Duration grace{0};
};
// A stop that is under way gets the shorter grace `grace`.
struct GraceShortened {
  Duration grace{0};
};
// The job's processes and containers are gone; only its files remain.
struct JobEnded {};
// The tasks in `tasks` restart. Their running attempts are requested to stop. Once these attempts have ended, and not
// before `not_before`, RestartBegan records how the tasks continue. If earlier restarts have not begun yet, this
// restart includes their tasks.
struct RestartDecided {
  int number = 0;  // 1, 2, ...
  RestartScope scope = RestartScope::kTask;
  AttemptId cause;
  // e.g. "worker:1 failed on node-3: exit code 3 (user_error)"
  std::string reason;
  bool charged = true;
  std::vector<TaskId> tasks;
  Instant not_before;
  Duration grace{0};
};
// The AM begins to list the content of the checkpoint directory, before any task starts.
struct ListingStarted {};
struct CheckpointsListed {
  CheckpointListing listing;
};
// The AM begins to search for the newest checkpoint.
struct CheckpointSearchStarted {
  int restart = 0;
};
struct CheckpointNoted {
  int restart = 0;
  std::optional<Checkpoint> newest;
  // False if the directory could not be read. In that case the checkpoint that was known before stays valid.
  bool known = true;
};
// The next attempt of a task, which uses the container and the executor of the attempt before.
struct RenewedAttempt {
  AttemptId attempt;
  ContainerId container;
};
struct RestartBegan {
  int number = 0;
  std::vector<RenewedAttempt> renewed;
  std::vector<AttemptId> requested;  // attempts that need a new container
};
// A single attempt is requested to stop, because the scheduler will soon take its container away.
struct AttemptStopping {
  AttemptId attempt;
  // The outcome that the attempt gets, unless it ends for another reason first.
  Outcome because;
  Duration grace{0};
};
// An attempt publishes values for tasks that start later. The values stay valid until the publishing task has another
// attempt.
struct ValuesPublished {
  AttemptId attempt;
  PublishedValues values;  // new values of this attempt
};
// The waiting tasks of a stage or of a role start, because all tasks for which they wait have published the awaited
// values. These are all tasks of the earlier stages, or the tasks that the role names.
struct StageOpened {
  int stage = 0;
  std::string role = {};  // empty: the whole stage
};
// The role still ran when its time limit after the end of the roles in `group` was over. The job no longer waits for
// the role's tasks, which continue to run.
struct RoleDetached {
  std::string role;
  std::string group;
};
// The attempt failed. It is not restarted, and the job continues without it.
struct FailureTolerated {
  AttemptId attempt;
  // e.g. "worker:1 failed on node-3: exit code 3 (user_error)"
  std::string reason;
};
// Enough tasks of the role have succeeded. Its other tasks are requested to stop, and how they end no longer matters.
struct RoleFinished {
  std::string role;
  // e.g. "97 of 100 tasks of role worker have succeeded (tony.worker.min-succeeded)"
  std::string reason;
  Duration grace{0};
};
// The job has a new owner or watch timeout.
struct OwnerChanged {
  Claim claim;
};
struct WatcherChanged {
  WatcherToken watcher;
};
// A kill is planned for a later time. A KillVoided with the same number cancels it.
struct KillPlanned {
  int number = 0;  // 1, 2, ...
  KillRequest request;
};
struct KillVoided {
  int number = 0;
  std::string reason;  // e.g. "owner o2 has come"
};

using DecisionBody =
    std::variant<EpochBegan, JobAccepted, ContainersRequested, ContainerAssigned, GangAllocated, AttemptLaunched,
                 AttemptRegistered, GenerationFormed, AttemptRan, AttemptSuspected, HeartbeatsReturned, AttemptEnded,
                 ContainerKillOrdered, ContainerEnded, JobStopping, GraceShortened, JobEnded, RestartDecided,
                 CheckpointSearchStarted, CheckpointNoted, RestartBegan, AttemptStopping, OwnerChanged, WatcherChanged,
                 KillPlanned, KillVoided, ListingStarted, CheckpointsListed, ValuesPublished, StageOpened, RoleDetached,
                 FailureTolerated, RoleFinished>;

struct Decision {
  Instant time;
  DecisionBody body;
};

// Returns the decision's name in the journal, e.g. "container_assigned".
std::string_view Name(const Decision& decision);

// Returns a single line of JSON: {"time":...,"decision":"container_assigned",...}.
std::string ToJson(const Decision& decision);
Result<Decision> DecisionFromJson(std::string_view json);

// Functions that describe decisions for people. Pure functions.

// Returns the details of the decision without its name and time, e.g. "worker:0#1 in 1-1 on 127.0.0.1". The text may be
// empty.
std::string Describe(const Decision& decision);

// Returns one line with the seconds since `start`, the time, the decision's name, and its description.
std::string EventLine(const Decision& decision, Instant start);

// Returns in one line how an attempt ended, e.g. "exit code 3, user_error, out of memory".
std::string Describe(const Outcome& outcome);

}  // namespace tony
