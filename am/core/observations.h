// What the AM sees. Never journalled as such.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "runtime/job/checkpoint.h"
#include "runtime/job/claim.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/outcome.h"
#include "runtime/job/scheduler_events.h"

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

}  // namespace tony::am
