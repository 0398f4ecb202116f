// Every row of the attempts' table is taken by a real Job, and no other way is.
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/all_states.h"

namespace tony::am {
namespace {

using AS = AttemptState;

// The task under test. The other one, other:0, is always as far as the job's state demands and no further.
constexpr char kTaskName[] = "worker:0";
constexpr char kOther[] = "other:0";
// Only an attempt after the first can be renewed.
constexpr char kSecondName[] = "worker:0#2";

JobBuilder TwoTasks() { return JobBuilder().Role("worker", 1).Role("other", 1); }
JobDriver Fresh() { return JobDriver(TwoTasks().NoRestarts().Build()); }
JobDriver FreshWithRestarts() { return JobDriver(TwoTasks().Restarts(RestartScope::kGang, 1).Build()); }

void FormTheGang(JobDriver& driver) {
  driver.Start();
  for (const char* task : {kTaskName, kOther}) {
    driver.Grant(task);
    driver.ConfirmLaunch(task);
    driver.Register(task);
  }
}

JobDriver WithAttemptIn(AS state) {
  JobDriver driver = Fresh();
  switch (state) {
    case AS::kNew:
      return driver;
    case AS::kRequested:
      driver.Start();
      return driver;
    case AS::kAllocated:
      driver.Start();
      driver.Grant(kTaskName);
      return driver;
    case AS::kLaunching:
      driver.Start();
      driver.Grant(kTaskName);
      driver.ConfirmLaunch(kTaskName);
      return driver;
    case AS::kRegistered:
      FormTheGang(driver);
      return driver;
    case AS::kRunning:
    case AS::kStopping:
    case AS::kSucceeded:
    case AS::kFailed:
    case AS::kKilled:
    case AS::kLost:
      FormTheGang(driver);
      driver.Heartbeat(kTaskName);
      break;
  }
  if (state == AS::kStopping || state == AS::kKilled) driver.Kill();
  if (state == AS::kSucceeded) driver.Report(kTaskName, Success());
  if (state == AS::kFailed) driver.Report(kTaskName, Failure(1));
  if (state == AS::kKilled) driver.Report(kTaskName, Killed());
  if (state == AS::kLost) driver.Exit(kTaskName);
  return driver;
}

// What has to be seen for the step to be taken.
void Observe(JobDriver& driver, AttemptStep step) {
  switch (step) {
    case AttemptStep::kRequest:
      driver.Start();
      return;
    case AttemptStep::kRenew:
      driver.Running();
      driver.Report(kTaskName, Failure(1));
      driver.Report(kOther, Killed());
      return;
    case AttemptStep::kAssign:
      driver.Grant(kTaskName);
      return;
    case AttemptStep::kLaunch:
      driver.ConfirmLaunch(kTaskName);
      return;
    case AttemptStep::kRegister:
      driver.Register(kTaskName);
      return;
    case AttemptStep::kRun:
      driver.Heartbeat(kTaskName);
      return;
    case AttemptStep::kStop:
      driver.Kill();
      return;
    case AttemptStep::kSucceed:
      driver.Report(kTaskName, Success());
      return;
    case AttemptStep::kFail:
      driver.Report(kTaskName, Failure(1));
      return;
    case AttemptStep::kKill:
      driver.Report(kTaskName, Killed());
      return;
    case AttemptStep::kLose:
      driver.Exit(kTaskName);
      return;
  }
}

// The decision that says that the step was taken from `state`; nothing where no decision can say that.
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
      // Whatever is said of the end of one that never registered: it was lost.
      if (state == AS::kAllocated || state == AS::kLaunching) return std::nullopt;
      return AttemptEnded{id, Failure(1)};
    case AttemptStep::kKill:
      // Whom nobody has told to stop is not "killed" by that: it has failed, or was lost.
      if (Next(state, AttemptStep::kFail) || Next(state, AttemptStep::kLose)) return std::nullopt;
      return AttemptEnded{id, Killed()};
    case AttemptStep::kLose:
      if (state == AS::kStopping) return std::nullopt;  // an end that nobody saw is what was wanted
      return AttemptEnded{id, {.cls = OutcomeClass::kNodeLost}};
  }
  return std::nullopt;
}

// All that the outside can see of a job, and how the task under test stands.
std::string Everything(const JobDriver& driver) {
  return StrCat(ToJson(driver.Status()), ToString(driver.StateOf(kTaskName)), ToString(driver.job().state()));
}

TEST(AttemptStatesTest, EveryWayOfAnAttemptIsTakenWhenItsCauseIsSeen) {
  for (const auto& [from, step, to] : AttemptTransitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " -> ", ToString(to)));
    const bool renews = step == AttemptStep::kRenew;
    const char* attempt = renews ? kSecondName : kTaskName;
    JobDriver driver = renews ? FreshWithRestarts() : WithAttemptIn(from);
    ASSERT_EQ(driver.StateOf(attempt), from);

    Observe(driver, step);

    EXPECT_TRUE(driver.Changes([&](const JobDriver& d) { return d.StateOf(attempt); }).contains({from, to}));
  }
}

TEST(AttemptStatesTest, AnAttemptTakesNoOtherWay) {
  for (const AS from : kAttemptStates) {
    for (const AttemptStep step : kAttemptSteps) {
      const std::optional<DecisionBody> claim = ClaimOfStep(from, step);
      if (Next(from, step) || !claim) continue;
      JobDriver driver = WithAttemptIn(from);
      ASSERT_EQ(driver.StateOf(kTaskName), from);
      const Decision decision{driver.now(), *claim};
      SCOPED_TRACE(StrCat(Name(decision), " of one that is ", ToString(from)));
      const std::string before = Everything(driver);

      const Result<Actions> actions = driver.job().Evolve(decision);

      ASSERT_FALSE(actions.ok());
      EXPECT_EQ(actions.error().code, ErrorCode::kInvalid);
      EXPECT_EQ(Everything(driver), before);
    }
  }
}

}  // namespace
}  // namespace tony::am
