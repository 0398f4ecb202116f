// Every state and step of the tables in am/core/states.h, for tests that go through all of them.
#pragma once

#include <array>

#include "am/core/states.h"

namespace tony::am {

inline constexpr std::array kAttemptStates = {
    AttemptState::kNew,        AttemptState::kRequested, AttemptState::kAllocated, AttemptState::kLaunching,
    AttemptState::kRegistered, AttemptState::kRunning,   AttemptState::kStopping,  AttemptState::kSucceeded,
    AttemptState::kFailed,     AttemptState::kKilled,    AttemptState::kLost};
inline constexpr std::array kAttemptSteps = {AttemptStep::kRequest, AttemptStep::kRenew,    AttemptStep::kAssign,
                                             AttemptStep::kLaunch,  AttemptStep::kRegister, AttemptStep::kRun,
                                             AttemptStep::kStop,    AttemptStep::kSucceed,  AttemptStep::kFail,
                                             AttemptStep::kKill,    AttemptStep::kLose};
inline constexpr std::array kTaskStates = {TaskState::kWaiting, TaskState::kActive, TaskState::kBackoff,
                                           TaskState::kDone};
inline constexpr std::array kTaskSteps = {TaskStep::kRequest, TaskStep::kEnd, TaskStep::kRestart, TaskStep::kGiveUp,
                                          TaskStep::kAbandon};
inline constexpr std::array kJobStates = {JobState::kAccepted,  JobState::kAllocating, JobState::kGathering,
                                          JobState::kRunning,   JobState::kRestarting, JobState::kStopping,
                                          JobState::kSucceeded, JobState::kFailed,     JobState::kKilled};
inline constexpr std::array kJobSteps = {JobStep::kRequest, JobStep::kAllocated, JobStep::kForm, JobStep::kRestart,
                                         JobStep::kStop,    JobStep::kSucceed,   JobStep::kFail, JobStep::kKill};

}  // namespace tony::am
