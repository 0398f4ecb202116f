// The states of attempts, tasks and the job, and all transitions between them. A journal with any other transition is
// refused.
//
//   attempt   New -> Requested -> Allocated -> Launching -> Registered -> Running -> Succeeded | Failed | Lost
//             New -> Launching, in the container and executor of the previous attempt
//             any of Requested..Running -> Stopping -> Succeeded | Failed | Killed
//   task      Waiting -> Active -> Done
//             Active | Done -> Backoff -> Active
//   job       Accepted -> Allocating -> Gathering -> Running -> Stopping -> Succeeded | Failed | Killed
//             Allocating | Gathering | Running -> Restarting -> Allocating
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::am {

// Returns the error for a decision that does not fit the state, which means that the journal is damaged.
inline Error Misfit(const std::string& what) { return {ErrorCode::kInvalid, what}; }

enum class AttemptState {
  kNew,
  kRequested,
  kAllocated,
  kLaunching,
  kRegistered,
  kRunning,
  kStopping,
  kSucceeded,
  kFailed,
  kKilled,
  kLost,
};
enum class AttemptStep { kRequest, kRenew, kAssign, kLaunch, kRegister, kRun, kStop, kSucceed, kFail, kKill, kLose };

enum class TaskState { kWaiting, kActive, kBackoff, kDone };
enum class TaskStep { kRequest, kEnd, kRestart, kGiveUp, kAbandon };

enum class JobState {
  kAccepted,
  kAllocating,
  kGathering,
  kRunning,
  kRestarting,
  kStopping,
  kSucceeded,
  kFailed,
  kKilled,
};
enum class JobStep { kRequest, kAllocated, kForm, kRestart, kStop, kSucceed, kFail, kKill };

template <class State, class Step>
struct Transition {
  State from;
  Step step;
  State to;
};

std::span<const Transition<AttemptState, AttemptStep>> AttemptTransitions();
std::span<const Transition<TaskState, TaskStep>> TaskTransitions();
std::span<const Transition<JobState, JobStep>> JobTransitions();

// Returns the state after `step`; nullopt if the step is not allowed in state `from`.
std::optional<AttemptState> Next(AttemptState from, AttemptStep step);
std::optional<TaskState> Next(TaskState from, TaskStep step);
std::optional<JobState> Next(JobState from, JobStep step);

bool IsFinal(AttemptState state);
bool IsFinal(JobState state);

std::string_view ToString(AttemptState state);  // e.g. "running"
std::string_view ToString(TaskState state);     // e.g. "active"
std::string_view ToString(JobState state);      // e.g. "RUNNING", for workflow engines

}  // namespace tony::am
