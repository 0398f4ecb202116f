// Every row of the tables of job and task is taken by a real Job, and no other way is.
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/all_states.h"

namespace tony::am {
namespace {

using JS = JobState;

// A job of two tasks.
constexpr char kTask[] = "worker:0";
constexpr char kOther[] = "other:0";

JobDriver Fresh() { return JobDriver(JobBuilder().Role("worker", 1).Role("other", 1).Build()); }

JobDriver WithJobIn(JS state) {
  JobDriver driver = Fresh();
  if (state == JS::kAccepted) {
    driver.Start();
    driver.Replay(1);
    return driver;
  }
  if (state == JS::kAllocating) driver.Accepted();
  if (state == JS::kGathering) driver.Gathering();
  if (IsFinal(state) || state == JS::kRunning || state == JS::kStopping) driver.Running();
  if (state == JS::kStopping || state == JS::kKilled) driver.Kill();
  if (state == JS::kFailed) driver.Report(kTask, Failure(1));
  if (state == JS::kSucceeded) {
    driver.Report(kTask, Success());
    driver.Report(kOther, Success());
  }
  if (!IsFinal(state)) return driver;
  for (const char* task : {kTask, kOther}) driver.Exit(task);
  return driver;
}

void Observe(JobDriver& driver, JobStep step) {
  switch (step) {
    case JobStep::kRequest:
      driver.Start({2});
      return;
    case JobStep::kAllocated:
      driver.GrantAll();
      return;
    case JobStep::kForm:
      driver.RegisterAll();
      return;
    case JobStep::kStop:
    case JobStep::kKill:
      driver.Kill();
      break;
    case JobStep::kSucceed:
      driver.Report(kTask, Success());
      driver.Report(kOther, Success());
      break;
    case JobStep::kFail:
      driver.Report(kTask, Failure(1));
      break;
  }
  if (step == JobStep::kStop) return;
  for (const char* task : {kTask, kOther}) driver.Exit(task);
}

DecisionBody Claim(const Job& job, JobStep step) {
  switch (step) {
    case JobStep::kRequest:
      return ContainersRequested{{AttemptOf(kTask), AttemptOf(kOther)}};
    case JobStep::kAllocated:
      return GangAllocated{};
    case JobStep::kForm:
      return GenerationFormed{job.Snapshot("", {}).generation.Next()};
    case JobStep::kStop:
      return JobStopping{{.state = FinalState::kKilled, .cls = OutcomeClass::kKilled}, Duration(0)};
    case JobStep::kSucceed:
    case JobStep::kFail:
    case JobStep::kKill:
      return JobEnded{};  // as the verdict says
  }
  return JobEnded{};
}

// All that the outside can see of a job, and how the task under test stands.
std::string Everything(const JobDriver& driver) {
  return StrCat(ToJson(driver.Status()), ToString(driver.StateOf(kTask)), ToString(driver.job().state()));
}

JobState Look(const JobDriver& driver) { return driver.job().state(); }

TEST(JobStatesTest, EveryWayOfTheJobIsTakenWhenItsCauseIsSeen) {
  for (const auto& [from, step, to] : JobTransitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " -> ", ToString(to)));
    // How a job that stops will end is decided before it stops.
    JobDriver driver = WithJobIn(from == JS::kStopping ? JS::kRunning : from);

    Observe(driver, step);

    EXPECT_TRUE(driver.Changes(Look).contains({from, to}));
  }
}

TEST(JobStatesTest, EveryWayOfATaskIsTakenOnTheStraightWay) {
  JobDriver driver = Fresh();
  driver.Running();
  driver.Report(kTask, Success());

  const auto changes = driver.Changes([](const JobDriver& d) { return d.StatusOf(kTask).state; });

  for (const auto& [from, step, to] : TaskTransitions())
    EXPECT_TRUE(changes.contains({std::string(ToString(from)), std::string(ToString(to))}));
}

TEST(JobStatesTest, TheJobTakesNoOtherWay) {
  for (const JS from : kJobStates) {
    for (const JobStep step : kJobSteps) {
      JobDriver driver = WithJobIn(from);
      ASSERT_EQ(driver.job().state(), from);
      const Decision decision{driver.now(), Claim(driver.job(), step)};
      const bool is_end = std::holds_alternative<JobEnded>(decision.body);
      if (Next(from, step) || (is_end && from == JS::kStopping)) continue;
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
