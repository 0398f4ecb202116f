#include "am/core/states.h"

#include <array>

namespace tony::am {
namespace {

using AS = AttemptState;
using AT = AttemptStep;
constexpr Transition<AS, AT> kAttemptTransitions[] = {
    {AS::kNew, AT::kRequest, AS::kRequested},
    {AS::kNew, AT::kRenew, AS::kLaunching},
    {AS::kRequested, AT::kAssign, AS::kAllocated},
    {AS::kAllocated, AT::kLaunch, AS::kLaunching},
    // An executor may register before the scheduler's confirmation of its launch arrives.
    {AS::kAllocated, AT::kRegister, AS::kRegistered},
    {AS::kLaunching, AT::kRegister, AS::kRegistered},
    {AS::kRegistered, AT::kRun, AS::kRunning},
    {AS::kRequested, AT::kStop, AS::kStopping},
    {AS::kAllocated, AT::kStop, AS::kStopping},
    {AS::kLaunching, AT::kStop, AS::kStopping},
    {AS::kRegistered, AT::kStop, AS::kStopping},
    {AS::kRunning, AT::kStop, AS::kStopping},
    // A short task may end before a heartbeat reports that it runs.
    {AS::kRegistered, AT::kSucceed, AS::kSucceeded},
    {AS::kRunning, AT::kSucceed, AS::kSucceeded},
    {AS::kRegistered, AT::kFail, AS::kFailed},
    {AS::kRunning, AT::kFail, AS::kFailed},
    {AS::kAllocated, AT::kLose, AS::kLost},
    {AS::kLaunching, AT::kLose, AS::kLost},
    {AS::kRegistered, AT::kLose, AS::kLost},
    {AS::kRunning, AT::kLose, AS::kLost},
    // A process may end by itself just before the order to stop reaches it.
    {AS::kStopping, AT::kSucceed, AS::kSucceeded},
    {AS::kStopping, AT::kFail, AS::kFailed},
    {AS::kStopping, AT::kKill, AS::kKilled},
};

using TS = TaskState;
constexpr Transition<TS, TaskStep> kTaskTransitions[] = {
    {TS::kWaiting, TaskStep::kRequest, TS::kActive},
    {TS::kActive, TaskStep::kEnd, TS::kDone},
    {TS::kActive, TaskStep::kRestart, TS::kBackoff},
    {TS::kDone, TaskStep::kRestart, TS::kBackoff},
    // A restart may take over the tasks of another restart.
    {TS::kBackoff, TaskStep::kRestart, TS::kBackoff},
    {TS::kBackoff, TaskStep::kEnd, TS::kBackoff},
    {TS::kBackoff, TaskStep::kRequest, TS::kActive},
    // These steps are for a task whose restart is given up during the backoff. The last attempt of the task has ended
    // (kGiveUp), or has not ended yet (kAbandon).
    {TS::kBackoff, TaskStep::kGiveUp, TS::kDone},
    {TS::kBackoff, TaskStep::kAbandon, TS::kActive},
};

using JS = JobState;
constexpr Transition<JS, JobStep> kJobTransitions[] = {
    {JS::kAccepted, JobStep::kRequest, JS::kAllocating},   {JS::kAllocating, JobStep::kAllocated, JS::kGathering},
    {JS::kGathering, JobStep::kForm, JS::kRunning},        {JS::kAllocating, JobStep::kRestart, JS::kRestarting},
    {JS::kGathering, JobStep::kRestart, JS::kRestarting},  {JS::kRunning, JobStep::kRestart, JS::kRestarting},
    {JS::kRestarting, JobStep::kRequest, JS::kAllocating}, {JS::kAllocating, JobStep::kStop, JS::kStopping},
    {JS::kGathering, JobStep::kStop, JS::kStopping},       {JS::kRunning, JobStep::kStop, JS::kStopping},
    {JS::kRestarting, JobStep::kStop, JS::kStopping},      {JS::kStopping, JobStep::kSucceed, JS::kSucceeded},
    {JS::kStopping, JobStep::kFail, JS::kFailed},          {JS::kStopping, JobStep::kKill, JS::kKilled},
};

template <class State, class Step>
std::optional<State> Find(std::span<const Transition<State, Step>> table, State from, Step step) {
  for (const auto& row : table) {
    if (row.from == from && row.step == step) return row.to;
  }
  return std::nullopt;
}

}  // namespace

std::span<const Transition<AttemptState, AttemptStep>> AttemptTransitions() { return kAttemptTransitions; }
std::span<const Transition<TaskState, TaskStep>> TaskTransitions() { return kTaskTransitions; }
std::span<const Transition<JobState, JobStep>> JobTransitions() { return kJobTransitions; }

std::optional<AttemptState> Next(AttemptState from, AttemptStep step) { return Find(AttemptTransitions(), from, step); }
std::optional<TaskState> Next(TaskState from, TaskStep step) { return Find(TaskTransitions(), from, step); }
std::optional<JobState> Next(JobState from, JobStep step) { return Find(JobTransitions(), from, step); }

bool IsFinal(AttemptState state) {
  switch (state) {
    case AttemptState::kSucceeded:
    case AttemptState::kFailed:
    case AttemptState::kKilled:
    case AttemptState::kLost:
      return true;
    case AttemptState::kNew:
    case AttemptState::kRequested:
    case AttemptState::kAllocated:
    case AttemptState::kLaunching:
    case AttemptState::kRegistered:
    case AttemptState::kRunning:
    case AttemptState::kStopping:
      return false;
  }
  return false;
}

bool IsFinal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed || state == JobState::kKilled;
}

std::string_view ToString(AttemptState state) {
  switch (state) {
    case AttemptState::kNew:
      return "new";
    case AttemptState::kRequested:
      return "requested";
    case AttemptState::kAllocated:
      return "allocated";
    case AttemptState::kLaunching:
      return "launching";
    case AttemptState::kRegistered:
      return "registered";
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kStopping:
      return "stopping";
    case AttemptState::kSucceeded:
      return "succeeded";
    case AttemptState::kFailed:
      return "failed";
    case AttemptState::kKilled:
      return "killed";
    case AttemptState::kLost:
      return "lost";
  }
  return "?";
}

std::string_view ToString(TaskState state) {
  switch (state) {
    case TaskState::kWaiting:
      return "waiting";
    case TaskState::kActive:
      return "active";
    case TaskState::kBackoff:
      return "backoff";
    case TaskState::kDone:
      return "done";
  }
  return "?";
}

std::string_view ToString(JobState state) {
  switch (state) {
    case JobState::kAccepted:
      return "ACCEPTED";
    case JobState::kAllocating:
      return "ALLOCATING";
    case JobState::kGathering:
      return "GATHERING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kRestarting:
      return "RESTARTING";
    case JobState::kStopping:
      return "STOPPING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kKilled:
      return "KILLED";
  }
  return "?";
}

}  // namespace tony::am
