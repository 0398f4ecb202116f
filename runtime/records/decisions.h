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
#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/outcome.h"

namespace tony {

struct EpochBegan {
  Epoch epoch;
};                      // an AM took over
struct JobAccepted {};  // once, by the first AM
struct ContainersRequested {
  std::vector<AttemptId> attempts;
};  // the first ones of roles; again where roles waited for others to succeed
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
  NamedPorts ports = {};
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
  bool reported = false;  // by its executor, which is still there
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
// These tasks are to start again. What still runs of them is told to stop; when all of it has ended, and not before
// `not_before`, RestartBegan says how. A restart takes over the tasks of earlier ones that have not begun.
struct RestartDecided {
  int number = 0;  // 1, 2, ...
  RestartScope scope = RestartScope::kTask;
  AttemptId cause;
  std::string reason;  // "worker:1 failed on node-3: exit code 3 (user_error)"
  bool charged = true;
  std::vector<TaskId> tasks;
  Instant not_before;
  Duration grace{0};
};
struct ListingSought {};  // the AM lists what is in the checkpoint directory, before any task starts
struct CheckpointsListed {
  CheckpointListing listing;
};
struct CheckpointSought {
  int restart = 0;
};  // the AM looks for the newest checkpoint
struct CheckpointNoted {
  int restart = 0;
  std::optional<Checkpoint> newest;
  bool known = true;  // false: the directory could not be read; what was known before still is
};
// The next attempt of a task, in the container and executor of the one before.
struct RenewedAttempt {
  AttemptId attempt;
  ContainerId container;
};
struct RestartBegan {
  int number = 0;
  std::vector<RenewedAttempt> renewed;
  std::vector<AttemptId> requested;  // these need a new container
};
// One attempt is told to stop, for a reason of its own: its container is about to be taken away.
struct AttemptStopping {
  AttemptId attempt;
  Outcome because;  // what it will have ended of, unless it ends otherwise before
  Duration grace{0};
};
// For those who start after it. What an attempt has published stands until its task has another.
struct ValuesPublished {
  AttemptId attempt;
  PublishedValues values;  // none of them published by this attempt before
};
// Every task of the stages before, or every one for which the role waits, has published what is awaited: who waits in
// the stage, or of the role, starts.
struct StageOpened {
  int stage = 0;
  std::string role = {};  // empty: of the whole stage
};
// It has outlived the group for long enough: the job does not wait for its tasks any more, which run on.
struct RoleLeft {
  std::string role;
  std::string group;
};
// It has failed, is not restarted, and the job goes on without it.
struct FailureTolerated {
  AttemptId attempt;
  std::string reason;  // "worker:1 failed on node-3: exit code 3 (user_error)"
};
// Enough tasks of the role have succeeded: what is left of it is told to stop, and its ends no longer matter.
struct RoleFinished {
  std::string role;
  std::string reason;  // "97 of 100 tasks of role worker have succeeded (tony.worker.min-succeeded)"
  Duration grace{0};
};
// The newest word on whose job it is.
struct OwnerChanged {
  Claim claim;
};
struct WatcherChanged {
  WatcherToken watcher;
};
// A kill that is not due yet; and that it will not be done.
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
                 AttemptRegistered, GenerationFormed, AttemptRan, AttemptSuspected, AttemptHeard, AttemptEnded,
                 ContainerKillOrdered, ContainerEnded, JobStopping, StopHurried, JobEnded, RestartDecided,
                 CheckpointSought, CheckpointNoted, RestartBegan, AttemptStopping, OwnerChanged, WatcherChanged,
                 KillPlanned, KillVoided, ListingSought, CheckpointsListed, ValuesPublished, StageOpened, RoleLeft,
                 FailureTolerated, RoleFinished>;

struct Decision {
  Instant time;
  DecisionBody body;
};

std::string_view Name(const Decision& decision);  // "container_assigned"

// One line of JSON: {"time":...,"decision":"container_assigned",...}.
std::string ToJson(const Decision& decision);
Result<Decision> DecisionFromJson(std::string_view json);

// A decision as a person reads it. Pure.

// Who or what it is about, without its name and time: "worker:0#1 in 1-1 on 127.0.0.1". May be empty.
std::string Describe(const Decision& decision);

// One line: seconds since `start`, time, name, description.
std::string EventLine(const Decision& decision, Instant start);

// "exit code 3, user_error, out of memory": how it ended, in one line.
std::string Describe(const Outcome& outcome);

}  // namespace tony
