// A real Job takes every row of the transition tables, and no other transition.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "am/core/states.h"
#include "runtime/base/strings.h"
#include "tests/unit/am/all_states.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

using AS = AttemptState;
using JS = JobState;

TEST(StatesTest, TheOnlyTransitionFromAFinalStateIsTheRestartOfADoneTask) {
  for (const AttemptState state : kAttemptStates) {
    const bool leads_on = std::ranges::any_of(kAttemptSteps, [&](AttemptStep s) { return Next(state, s).has_value(); });
    EXPECT_EQ(leads_on, !IsFinal(state)) << ToString(state);
  }
  for (const JobState state : kJobStates) {
    const bool leads_on = std::ranges::any_of(kJobSteps, [&](JobStep s) { return Next(state, s).has_value(); });
    EXPECT_EQ(leads_on, !IsFinal(state)) << ToString(state);
  }
  for (const TaskStep step : kTaskSteps)
    EXPECT_EQ(Next(TaskState::kDone, step).has_value(), step == TaskStep::kRestart) << "only a restart undoes it";
}

TEST(StatesTest, NoTransitionIsListedTwice) {
  std::set<std::pair<AttemptState, AttemptStep>> attempt;
  std::set<std::pair<TaskState, TaskStep>> task;
  std::set<std::pair<JobState, JobStep>> job;
  for (const auto& row : AttemptTransitions()) EXPECT_TRUE(attempt.emplace(row.from, row.step).second);
  for (const auto& row : TaskTransitions()) EXPECT_TRUE(task.emplace(row.from, row.step).second);
  for (const auto& row : JobTransitions()) EXPECT_TRUE(job.emplace(row.from, row.step).second);
}

TEST(StatesTest, StateNamesAreUnique) {
  std::set<std::string_view> names;
  for (const AttemptState state : kAttemptStates) names.insert(ToString(state));
  for (const JobState state : kJobStates) names.insert(ToString(state));
  for (const TaskState state : kTaskStates) names.insert(ToString(state));
  EXPECT_EQ(names.size(), kAttemptStates.size() + kJobStates.size() + kTaskStates.size());
}

// ---- attempts

// worker:0 is the task under test. The other task, other:0, goes only as far as the state of the job demands.
constexpr char kTaskName[] = "worker:0";
constexpr char kOtherTask[] = "other:0";
constexpr char kWorkerAndOther[] = "worker*1 other*1 lost=0";

const std::map<AS, std::string> kWaysOfAttempt = {
    {AS::kNew, ""},
    {AS::kRequested, "start"},
    {AS::kAllocated, "start, grant worker:0"},
    {AS::kLaunching, "start, grant worker:0, launched worker:0"},
    {AS::kRegistered, "start, place worker:0 other:0"},
    {AS::kRunning, "start, place worker:0 other:0, heartbeat worker:0"},
    {AS::kStopping, "start, place worker:0 other:0, heartbeat worker:0, kill"},
    {AS::kSucceeded, "start, place worker:0 other:0, heartbeat worker:0, report worker:0 success"},
    {AS::kFailed, "start, place worker:0 other:0, heartbeat worker:0, report worker:0 fails 1"},
    {AS::kKilled, "start, place worker:0 other:0, heartbeat worker:0, kill, report worker:0 killed"},
    {AS::kLost, "start, place worker:0 other:0, heartbeat worker:0, exit worker:0"},
};

// The events that lead to each step. Only an attempt after the first one can be renewed.
const std::map<AttemptStep, std::string> kCausesOfAttempt = {
    {AttemptStep::kRequest, "start"},
    {AttemptStep::kRenew, "running, report worker:0 fails 1, report other:0 killed"},
    {AttemptStep::kAssign, "grant worker:0"},
    {AttemptStep::kLaunch, "launched worker:0"},
    {AttemptStep::kRegister, "register worker:0"},
    {AttemptStep::kRun, "heartbeat worker:0"},
    {AttemptStep::kStop, "kill"},
    {AttemptStep::kSucceed, "report worker:0 success"},
    {AttemptStep::kFail, "report worker:0 fails 1"},
    {AttemptStep::kKill, "report worker:0 killed"},
    {AttemptStep::kLose, "exit worker:0"},
};

// Returns the decision that claims that the step was taken from `state`; nullopt if no decision can claim that.
std::optional<DecisionBody> ClaimOfStep(AS state, AttemptStep step) {
  const AttemptId id = AttemptOf(kTaskName);
  switch (step) {
    case AttemptStep::kRequest:
      return ContainersRequested{{id}};
    case AttemptStep::kRenew:
      return RestartBegan{1, {{id, ContainerOf(kTaskName)}}, {}};
    case AttemptStep::kAssign:
      return ContainerAssigned{id, {"another-container"}, "node"};
    case AttemptStep::kLaunch:
      return AttemptLaunched{id};
    case AttemptStep::kRegister:
      return AttemptRegistered{id, EndpointOf(kTaskName)};
    case AttemptStep::kRun:
      return AttemptRan{id, 100};
    case AttemptStep::kStop:
      return AttemptStopping{id, {.cls = OutcomeClass::kPreempted}, Duration(0)};
    case AttemptStep::kSucceed:
      return AttemptEnded{id, Success()};
    case AttemptStep::kFail:
      // An attempt that never registered counts as lost, whatever its reported end is.
      if (state == AS::kAllocated || state == AS::kLaunching) return std::nullopt;
      return AttemptEnded{id, Failure(1)};
    case AttemptStep::kKill:
      // An attempt that was not told to stop has failed or was lost; a report "killed" does not make it killed.
      if (Next(state, AttemptStep::kFail) || Next(state, AttemptStep::kLose)) return std::nullopt;
      return AttemptEnded{id, Killed()};
    case AttemptStep::kLose:
      // A stopping attempt that ended while no keeper was running ended as intended.
      if (state == AS::kStopping) return std::nullopt;
      return AttemptEnded{id, {.cls = OutcomeClass::kNodeLost}};
  }
  return std::nullopt;
}

// Returns all that the outside can see of a job, and the state of the task under test.
std::string EveryState(const JobDriver& driver) {
  return StrCat(ToJson(driver.Status()), ToString(driver.StateOf(kTaskName)), ToString(driver.job().state()));
}

void ExpectRefusedUnchanged(JobDriver& driver, const DecisionBody& body) {
  const Decision decision{driver.now(), body};
  SCOPED_TRACE(Name(decision));
  const std::string before = EveryState(driver);
  const Result<Actions> actions = driver.job().Evolve(decision);
  ASSERT_FALSE(actions.ok());
  EXPECT_EQ(actions.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(EveryState(driver), before);
}

TEST(AttemptStatesTest, EachEventCausesItsListedAttemptTransition) {
  for (const auto& [from, step, to] : AttemptTransitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " -> ", ToString(to)));
    const bool renews = step == AttemptStep::kRenew;
    const char* attempt = renews ? "worker:0#2" : kTaskName;
    const std::string way = renews ? "" : kWaysOfAttempt.at(from);
    const char* job = renews ? "worker*1 other*1 gang=1" : kWorkerAndOther;
    ASSERT_EQ(DriverAfter(job, way).StateOf(attempt), from);
    const JobDriver driver = DriverAfter(job, StrCat(way, ", ", kCausesOfAttempt.at(step)));
    EXPECT_TRUE(driver.Changes([&](const JobDriver& d) { return d.StateOf(attempt); }).contains({from, to}));
  }
}

TEST(AttemptStatesTest, AnUnlistedAttemptTransitionIsRejected) {
  for (const AS from : kAttemptStates) {
    for (const AttemptStep step : kAttemptSteps) {
      const std::optional<DecisionBody> claim = ClaimOfStep(from, step);
      if (Next(from, step) || !claim) continue;
      SCOPED_TRACE(ToString(from));
      JobDriver driver = DriverAfter(kWorkerAndOther, kWaysOfAttempt.at(from));
      ASSERT_EQ(driver.StateOf(kTaskName), from);
      ExpectRefusedUnchanged(driver, *claim);
    }
  }
}

// ---- jobs

const std::map<JS, std::string> kWaysOfJob = {
    {JS::kAccepted, "start, replay 1"},
    {JS::kAllocating, "start"},
    {JS::kGathering, "gathering"},
    {JS::kRunning, "running"},
    {JS::kRestarting, "running, report worker:0 fails 1"},
    {JS::kStopping, "running, kill"},
    {JS::kSucceeded, "running, report worker:0 other:0 success, exit worker:0 other:0"},
    {JS::kFailed, "running, report worker:0 fails 1, exit worker:0 other:0"},
    {JS::kKilled, "running, kill, exit worker:0 other:0"},
};

std::string CauseOf(JobStep step, JS from) {
  switch (step) {
    case JobStep::kRequest:
      return from == JS::kAccepted ? "start 2" : "report other:0 killed";
    case JobStep::kRestart:
      return from < JS::kGathering ? "grant worker:0, exit worker:0" : "exit worker:0";
    case JobStep::kAllocated:
      return "all-granted";
    case JobStep::kForm:
      return "all-registered";
    case JobStep::kStop:
      return "kill";
    case JobStep::kKill:
      return "kill, exit worker:0 other:0";
    case JobStep::kSucceed:
      return "report worker:0 other:0 success, exit worker:0 other:0";
    case JobStep::kFail:
      return "report worker:0 fails 1, exit worker:0 other:0";
  }
  return "";
}

DecisionBody ClaimOf(const Job& job, JobStep step) {
  switch (step) {
    case JobStep::kRequest:
      return ContainersRequested{{AttemptOf(kTaskName), AttemptOf(kOtherTask)}};
    case JobStep::kAllocated:
      return GangAllocated{};
    case JobStep::kForm:
      return GenerationFormed{job.Snapshot("", {}).generation.Next()};
    case JobStep::kRestart:
      return RestartDecided{.number = job.Snapshot("", {}).restart_count + 1,
                            .scope = RestartScope::kGang,
                            .cause = AttemptOf(kTaskName),
                            .tasks = {AttemptOf(kTaskName).task, AttemptOf(kOtherTask).task}};
    case JobStep::kStop:
      return JobStopping{{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled}, Duration(0)};
    case JobStep::kSucceed:
    case JobStep::kFail:
    case JobStep::kKill:
      // The job ends in the state that its verdict names.
      return JobEnded{};
  }
  return JobEnded{};
}

TEST(JobStatesTest, EachEventCausesItsListedJobTransition) {
  for (const auto& [from, step, to] : JobTransitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " -> ", ToString(to)));
    // The same failure fails a job without a budget, and restarts a job with one. The verdict of a stopping job was
    // decided earlier.
    const bool restarts = step == JobStep::kRestart || from == JS::kRestarting;
    const JS before = from == JS::kStopping && !restarts ? JS::kRunning : from;
    const JobDriver driver = DriverAfter(restarts ? StrCat(kWorkerAndOther, " gang=1") : kWorkerAndOther,
                                         StrCat(kWaysOfJob.at(before), ", ", CauseOf(step, from)));
    EXPECT_TRUE(driver.Changes([](const JobDriver& d) { return d.job().state(); }).contains({from, to}));
  }
}

TEST(JobStatesTest, AnUnlistedJobTransitionIsRejected) {
  for (const JS from : kJobStates) {
    for (const JobStep step : kJobSteps) {
      SCOPED_TRACE(ToString(from));
      JobDriver driver = DriverAfter(from == JS::kRestarting ? StrCat(kWorkerAndOther, " gang=1") : kWorkerAndOther,
                                     kWaysOfJob.at(from));
      ASSERT_EQ(driver.job().state(), from);
      const DecisionBody claim = ClaimOf(driver.job(), step);
      const bool is_end = std::holds_alternative<JobEnded>(claim);
      if (Next(from, step) || (is_end && from == JS::kStopping)) continue;
      ExpectRefusedUnchanged(driver, claim);
    }
  }
}

// ---- tasks

std::vector<std::string_view> DecisionsThatTake(TaskStep step) {
  switch (step) {
    case TaskStep::kRequest:
      return {"containers_requested", "restart_began"};
    case TaskStep::kEnd:
      return {"attempt_ended"};
    case TaskStep::kRestart:
      return {"restart_decided"};
    case TaskStep::kGiveUp:
    case TaskStep::kAbandon:
      return {"job_stopping"};
  }
  return {};
}

// A change is (state before, decision, state after). The stories cover all changes that restarts of a task cause.
using TaskChange = std::tuple<std::string, std::string_view, std::string>;

std::set<TaskChange> EverythingThatHappensToATask() {
  const std::vector<std::pair<std::string, std::string>> stories = {
      {"gang=1", "running, report worker:0 success, report other:0 fails 1"},
      {"gang=1", "running, report other:0 fails 1, report worker:0 killed"},
      {"gang=1", "running, report other:0 fails 1, kill"},
      {"gang=1", "running, report worker:0 fails 1, kill"},
      // The first restart begins when its container has exited.
      {"gang=1 lost=1", "running, report worker:0 preempted, report other:0 fails 1"},
  };
  std::set<TaskChange> changes;
  for (const auto& [budget, events] : stories) {
    const std::string job = StrCat(kWorkerAndOther, " standalone ", budget);
    JobDriver replayed(JobOf(job));
    const JobDriver driver = DriverAfter(job, events);
    for (const Decision& decision : driver.journal()) {
      const std::string before = replayed.StatusOf(kTaskName).state;
      CHECK(replayed.job().Evolve(decision).ok());
      changes.emplace(before, Name(decision), replayed.StatusOf(kTaskName).state);
    }
  }
  return changes;
}

TEST(JobStatesTest, EachDecisionCausesItsListedTaskTransition) {
  const std::set<TaskChange> changes = EverythingThatHappensToATask();
  for (const auto& [from, step, to] : TaskTransitions()) {
    bool taken = false;
    for (const std::string_view by : DecisionsThatTake(step))
      taken |= changes.contains({std::string(ToString(from)), by, std::string(ToString(to))});
    EXPECT_TRUE(taken) << ToString(from) << " -> " << ToString(to);
  }
}

}  // namespace
}  // namespace tony::am
