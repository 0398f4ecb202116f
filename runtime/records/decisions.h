// The decisions of the AM, which are the content of the journal. A decision says what is true from now on. It does not
// contain the policy, timers or budgets that led to it, so a later release replays it even if its own policy differs.
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

// An AM has become leader.
struct EpochBegan {
  Epoch epoch;
};
// The first AM accepts the job; a journal has this decision once.
struct JobAccepted {};
// The AM requests the first containers of roles. It does so again for roles that had to wait until others had
// succeeded.
struct ContainersRequested {
  std::vector<AttemptId> attempts;
};
struct ContainerAssigned {
  AttemptId attempt;
  ContainerId container;
  std::string host;
};
// Every task has its container.
struct GangAllocated {};
struct AttemptLaunched {
  AttemptId attempt;
};
struct AttemptRegistered {
  AttemptId attempt;
  Endpoint endpoint;
  NamedPorts ports = {};
};
// The barrier has opened: the cluster spec has the endpoints that are known now.
struct GenerationFormed {
  Generation generation;
};
struct AttemptRan {
  AttemptId attempt;
  int64_t pid = 0;
};
// Heartbeats of the attempt are missing.
struct AttemptSuspected {
  AttemptId attempt;
};
// Heartbeats of the attempt have returned.
struct HeartbeatsReturned {
  AttemptId attempt;
};
struct AttemptEnded {
  AttemptId attempt;
  Outcome outcome;
  // The executor has reported the end and still runs.
  bool reported = false;
};
struct ContainerKillOrdered {
  ContainerId container;
};
struct ContainerEnded {
  ContainerId container;
};
// All attempts are requested to stop. `verdict` is how the job will have ended.
struct JobStopping {
  Verdict verdict;
  Duration grace{0};
};
// The grace of the stop is shortened to `grace`.
struct GraceShortened {
  Duration grace{0};
};
// Nothing of the job is left, except its files.
struct JobEnded {};
// The tasks in `tasks` restart. Their running attempts are requested to stop. When all of these have ended, and not
// before `not_before`, RestartBegan says how the tasks continue. A restart takes over the tasks of earlier restarts
// that have not begun.
struct RestartDecided {
  int number = 0;  // 1, 2, ...
  RestartScope scope = RestartScope::kTask;
  AttemptId cause;
  // For example: "worker:1 failed on node-3: exit code 3 (user_error)".
  std::string reason;
  bool charged = true;
  std::vector<TaskId> tasks;
  Instant not_before;
  Duration grace{0};
};
// The AM lists what is in the checkpoint directory, before any task starts.
struct ListingStarted {};
struct CheckpointsListed {
  CheckpointListing listing;
};
// The AM searches for the newest checkpoint.
struct CheckpointSearchStarted {
  int restart = 0;
};
struct CheckpointNoted {
  int restart = 0;
  std::optional<Checkpoint> newest;
  // False if the directory could not be read; the checkpoint known before stays valid.
  bool known = true;
};
// The next attempt of a task, in the container and executor of the attempt before.
struct RenewedAttempt {
  AttemptId attempt;
  ContainerId container;
};
struct RestartBegan {
  int number = 0;
  std::vector<RenewedAttempt> renewed;
  std::vector<AttemptId> requested;  // attempts that need a new container
};
// A single attempt is requested to stop, because its container will soon be taken away.
struct AttemptStopping {
  AttemptId attempt;
  // The outcome that the attempt gets, unless it ends in another way first.
  Outcome because;
  Duration grace{0};
};
// Values for tasks that start later. The values of an attempt stay valid until its task has another attempt.
struct ValuesPublished {
  AttemptId attempt;
  PublishedValues values;  // not published by this attempt before
};
// All tasks of the earlier stages, or all for which the role waits, have published the awaited values. The waiting
// tasks of the stage, or of the role, start.
struct StageOpened {
  int stage = 0;
  std::string role = {};  // empty: the whole stage
};
// The role has outlived the group for long enough: the job no longer waits for the role's tasks, which continue to run.
struct RoleDetached {
  std::string role;
  std::string group;
};
// The attempt has failed and is not restarted, and the job continues without it.
struct FailureTolerated {
  AttemptId attempt;
  // For example: "worker:1 failed on node-3: exit code 3 (user_error)".
  std::string reason;
};
// Enough tasks of the role have succeeded: its other tasks are requested to stop, and their ends no longer matter.
struct RoleFinished {
  std::string role;
  // For example: "97 of 100 tasks of role worker have succeeded (tony.worker.min-succeeded)".
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
// A kill that is not due yet. KillVoided with the same number says that it will not happen.
struct KillPlanned {
  int number = 0;  // 1, 2, ...
  KillRequest request;
};
struct KillVoided {
  int number = 0;
  std::string reason;  // "owner o2 has come"
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

std::string_view Name(const Decision& decision);  // "container_assigned"

// The JSON form is a single line: {"time":...,"decision":"container_assigned",...}.
std::string ToJson(const Decision& decision);
Result<Decision> DecisionFromJson(std::string_view json);

// Texts of decisions for people. Pure functions.

// Returns the subject of the decision without its name and time: "worker:0#1 in 1-1 on 127.0.0.1". May be empty.
std::string Describe(const Decision& decision);

// Returns one line: seconds since `start`, time, name, description.
std::string EventLine(const Decision& decision, Instant start);

// Returns how an attempt ended, in one line: "exit code 3, user_error, out of memory".
std::string Describe(const Outcome& outcome);

}  // namespace tony
