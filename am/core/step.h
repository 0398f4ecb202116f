// A step of the core: what the AM observes (observations are never journalled), which decisions follow, and which
// actions the AM performs after the decisions are journalled.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"
#include "runtime/records/decisions.h"

namespace tony::am {

// The first observation of every AM.
struct AmStarted {
  Epoch epoch;
  Claim claim;  // ownership set by the submitter
  // True if the journal has version 1, in which a crash could separate an attempt's end from the decision about this
  // end.
  bool steps_may_be_torn = false;
  bool ends_are_confirmed = false;  // value of Scheduler::ConfirmsEnds()
};
// The AM has renewed its lease, so executors can see that it is the leader.
struct LeaseRenewed {};
// A deadline of the job has been reached.
struct TimePassed {};
struct KillRequested {
  KillRequest request;
};
struct AttachRequested {
  Claim claim;
};
// A client has requested the job's status, or waits for it. An empty token stands for a client without a name.
struct ClientSeen {
  WatcherToken watcher;
};

// The result of listing the checkpoint directory, which happens before the first attempts start.
struct CheckpointsFound {
  CheckpointListing listing;
  // Another job that uses the checkpoint directory and has not ended. If this member is set, the directory was not
  // listed.
  std::optional<JobId> in_use_by;
};

// The result of the checkpoint search that a restart requested.
struct CheckpointSearched {
  int restart = 0;
  std::optional<Checkpoint> newest;
  // False if the directory could not be read, so the newest checkpoint is unknown.
  bool readable = true;
};

// Calls of executors. Decide() refuses stale calls.
struct RegisterCall {
  Caller caller;
  Registration registration;
};
struct AwaitCall {
  Caller caller;
};
struct HeartbeatCall {
  Caller caller;
  Progress progress;
};
struct PublishCall {
  Caller caller;
  PublishedValues values;
};
struct OutcomeCall {
  Caller caller;
  Outcome outcome;
};

struct ContainerEvent {
  SchedulerEvent event;
};

using Observation = std::variant<AmStarted, LeaseRenewed, TimePassed, KillRequested, AttachRequested, ClientSeen,
                                 RegisterCall, AwaitCall, HeartbeatCall, PublishCall, OutcomeCall, ContainerEvent,
                                 CheckpointsFound, CheckpointSearched>;

// ---- actions: what the AM does once the decisions of a step are journalled
struct RequestContainers {
  std::vector<ContainerRequest> asks;
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
// Answers the executor's parked Await call with command `number`, because the executor's command has changed. The
// action does nothing if a later step has already changed the command again. In that case the action of the later step
// answers the call, once the decisions of the later step are on disk.
struct SendCommand {
  AttemptId attempt;
  int64_t number = 0;
  // The attempt that a NEXT command starts. The field is needed because all NEXT commands of a generation have the same
  // `number`.
  int next = 0;
  // The checkpoint of a START command. The field is needed because the command keeps its `number` when a newer
  // checkpoint is noted.
  std::string resume_from;
  friend bool operator==(const SendCommand&, const SendCommand&) = default;
};
struct ListCheckpoints {};  // result: CheckpointsFound
// Searches for the newest checkpoint. The result is observed as CheckpointSearched.
struct SearchCheckpoint {
  int restart = 0;
};
// Writes the verdict, releases the scheduler and ends the AM.
struct EndJob {};

using Action = std::variant<RequestContainers, WithdrawRequests, LaunchExecutor, StopContainer, SendCommand,
                            ListCheckpoints, SearchCheckpoint, EndJob>;
using Actions = std::vector<Action>;

// The result of Job::Decide() for an observation.
struct Decided {
  std::vector<DecisionBody> decisions;
  // Actions that need no decision because they change no state, e.g. orders that are repeated.
  Actions actions;
  // Set if the call is refused; a refused call has no effect.
  std::optional<Refusal> refusal;
};

// The result of a whole step: its decisions with their time, and the actions that follow once they are journalled.
struct CoreStepResult {
  std::vector<Decision> decisions;
  Actions actions;
  std::optional<Refusal> refusal;
};

}  // namespace tony::am
