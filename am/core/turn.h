// One turn of the core: what the AM sees (observations, which are never journalled), what it decides, and what it does
// in the world (actions) after its decisions are journalled.
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

struct AmStarted {
  Epoch epoch;
  Claim claim;  // the submitter's
  // The journal is of version 1, where a crash could come between an end and what was made of it.
  bool turns_may_be_torn = false;
  bool ends_are_confirmed = false;  // Scheduler::ConfirmsEnds()
};                                  // the first one of every AM
struct LeaseRenewed {};             // executors can see that this AM rules
struct TimePassed {};               // a deadline of the job was reached
struct KillAsked {
  KillRequest request;
};
struct AttachAsked {
  Claim claim;
};
// Somebody has asked for the job's status, or waits for it. An empty token: somebody without a name.
struct Looked {
  WatcherToken watcher;
};

// What the look into the checkpoint directory has found, before the first attempts.
struct CheckpointsThere {
  CheckpointListing listing;
  std::optional<JobId> in_use_by;  // another job, which has not ended; nothing was listed
};

// What the look for checkpoints that a restart asked for has found.
struct CheckpointSeen {
  int restart = 0;
  std::optional<Checkpoint> newest;
  bool readable = true;  // false: the directory could not be read, and nothing is known
};

// Calls of executors. Decide() refuses stale ones.
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

using Observation =
    std::variant<AmStarted, LeaseRenewed, TimePassed, KillAsked, AttachAsked, Looked, RegisterCall, AwaitCall,
                 HeartbeatCall, PublishCall, OutcomeCall, ContainerEvent, CheckpointsThere, CheckpointSeen>;

// ---- actions
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

// What Job::Decide() makes of an observation.
struct Decided {
  std::vector<DecisionBody> decisions;
  // Orders that are given again. They change nothing, so they need no decision.
  Actions actions;
  // The call is refused, with no effect.
  std::optional<Refusal> refusal;
};

// A whole turn: its decisions with their time, and what to do once they are journalled.
struct TurnResult {
  std::vector<Decision> decisions;
  Actions actions;
  std::optional<Refusal> refusal;
};

}  // namespace tony::am
