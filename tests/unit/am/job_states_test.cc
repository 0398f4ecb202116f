// Every row of the tables of job and task is taken by a real Job, and no other way is.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <tuple>

#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/all_states.h"

namespace tony::am {
namespace {

using JS = JobState;

// A job of two tasks.
constexpr char kLoneTask[] = "worker:0";
constexpr char kOtherTask[] = "other:0";

JobBuilder TwoWithoutRestarts() { return JobBuilder().Role("worker", 1).Role("other", 1).NoRestarts(); }
JobDriver FreshJob() { return JobDriver(TwoWithoutRestarts().Build()); }
JobDriver FreshWithOneRestart() { return JobDriver(TwoWithoutRestarts().Restarts(RestartScope::kGang, 1).Build()); }

JobDriver WithJobIn(JS state, JobDriver driver) {
  if (state == JS::kAccepted) {
    driver.Start();
    driver.Replay(1);
    return driver;
  }
  if (state == JS::kAllocating) driver.Accepted();
  if (state == JS::kGathering) driver.Gathering();
  if (state >= JS::kRunning) driver.Running();
  if (state == JS::kRestarting) driver.Report(kLoneTask, Failure(1));
  if (state == JS::kStopping || state == JS::kKilled) driver.Kill();
  if (state == JS::kFailed) driver.Report(kLoneTask, Failure(1));
  if (state == JS::kSucceeded) {
    driver.Report(kLoneTask, Success());
    driver.Report(kOtherTask, Success());
  }
  if (!IsFinal(state)) return driver;
  for (const char* task : {kLoneTask, kOtherTask}) driver.Exit(task);
  return driver;
}

JobDriver WithJobIn(JS state) {
  return WithJobIn(state, state == JS::kRestarting ? FreshWithOneRestart() : FreshJob());
}

// What fails a job without a budget restarts one that has it.
JobDriver Before(JS from, JobStep step) {
  if (step == JobStep::kRestart) return WithJobIn(from, FreshWithOneRestart());
  // How a job that stops will end is decided before it stops.
  return WithJobIn(from == JS::kStopping ? JS::kRunning : from);
}

void Observe(JobDriver& driver, JobStep step) {
  switch (step) {
    case JobStep::kRequest:
      if (driver.job().state() == JS::kAccepted) driver.Start({2});
      driver.Report(kOtherTask, Killed());
      return;
    case JobStep::kRestart:
      driver.Grant(kLoneTask);
      driver.Exit(kLoneTask);
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
      driver.Report(kLoneTask, Success());
      driver.Report(kOtherTask, Success());
      break;
    case JobStep::kFail:
      driver.Report(kLoneTask, Failure(1));
      break;
  }
  if (step == JobStep::kStop) return;
  for (const char* task : {kLoneTask, kOtherTask}) driver.Exit(task);
}

DecisionBody ClaimOf(const Job& job, JobStep step) {
  switch (step) {
    case JobStep::kRequest:
      return ContainersRequested{{AttemptOf(kLoneTask), AttemptOf(kOtherTask)}};
    case JobStep::kAllocated:
      return GangAllocated{};
    case JobStep::kForm:
      return GenerationFormed{job.Snapshot("", {}).generation.Next()};
    case JobStep::kRestart:
      return RestartDecided{.number = job.Snapshot("", {}).restart_count + 1,
                            .scope = RestartScope::kGang,
                            .cause = AttemptOf(kLoneTask),
                            .tasks = {AttemptOf(kLoneTask).task, AttemptOf(kOtherTask).task}};
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
std::string EveryState(const JobDriver& driver) {
  return StrCat(ToJson(driver.Status()), ToString(driver.StateOf(kLoneTask)), ToString(driver.job().state()));
}

JobState Look(const JobDriver& driver) { return driver.job().state(); }

TEST(JobStatesTest, EveryWayOfTheJobIsTakenWhenItsCauseIsSeen) {
  for (const auto& [from, step, to] : JobTransitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " -> ", ToString(to)));
    JobDriver driver = Before(from, step);

    Observe(driver, step);

    EXPECT_TRUE(driver.Changes(Look).contains({from, to}));
  }
}

// Which decision took a task from which state to which.
using TaskChange = std::tuple<std::string, std::string_view, std::string>;

std::set<TaskChange> ChangesOf(const JobDriver& driver, JobDriver replayed) {
  std::set<TaskChange> changes;
  for (const Decision& decision : driver.journal()) {
    const std::string before = replayed.StatusOf(kLoneTask).state;
    CHECK(replayed.job().Evolve(decision).ok());
    changes.emplace(before, Name(decision), replayed.StatusOf(kLoneTask).state);
  }
  return changes;
}

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

// What a restart does to a task, in as many stories as that needs.
std::set<TaskChange> EverythingThatHappensToATask() {
  const auto spec = TwoWithoutRestarts().Framework(FrameworkKind::kStandalone);
  const auto with = [&](RestartScope scope) { return JobBuilder(spec).Restarts(scope, 1).Build(); };
  std::set<TaskChange> changes;
  const auto story = [&](const JobSpec& of, const std::function<void(JobDriver&)>& tell) {
    JobDriver driver(of);
    driver.Running();
    tell(driver);
    changes.merge(ChangesOf(driver, JobDriver(of)));
  };
  story(with(RestartScope::kGang), [](JobDriver& d) {
    d.Report(kLoneTask, Success());
    d.Report(kOtherTask, Failure(1));
  });
  story(with(RestartScope::kGang), [](JobDriver& d) {
    d.Report(kOtherTask, Failure(1));
    d.Report(kLoneTask, Killed());
  });
  story(with(RestartScope::kGang), [](JobDriver& d) {
    d.Report(kOtherTask, Failure(1));
    d.Kill();
  });
  story(with(RestartScope::kGang), [](JobDriver& d) {
    d.Report(kLoneTask, Failure(1));
    d.Kill();
  });
  story(JobBuilder(spec).Restarts(RestartScope::kGang, 1).LostRestarts(1).Build(), [](JobDriver& d) {
    d.Report(kLoneTask, {.cls = OutcomeClass::kPreempted});  // to begin when its container is gone
    d.Report(kOtherTask, Failure(1));
  });
  return changes;
}

TEST(JobStatesTest, EveryWayOfATaskIsTakenByItsDecision) {
  const std::set<TaskChange> changes = EverythingThatHappensToATask();
  for (const auto& [from, step, to] : TaskTransitions()) {
    bool taken = false;
    for (const std::string_view by : DecisionsThatTake(step))
      taken |= changes.contains({std::string(ToString(from)), by, std::string(ToString(to))});
    EXPECT_TRUE(taken) << ToString(from) << " -> " << ToString(to);
  }
}

TEST(JobStatesTest, TheJobTakesNoOtherWay) {
  for (const JS from : kJobStates) {
    for (const JobStep step : kJobSteps) {
      JobDriver driver = WithJobIn(from);
      ASSERT_EQ(driver.job().state(), from);
      const Decision decision{driver.now(), ClaimOf(driver.job(), step)};
      const bool is_end = std::holds_alternative<JobEnded>(decision.body);
      if (Next(from, step) || (is_end && from == JS::kStopping)) continue;
      SCOPED_TRACE(StrCat(Name(decision), " of one that is ", ToString(from)));
      const std::string before = EveryState(driver);

      const Result<Actions> actions = driver.job().Evolve(decision);

      ASSERT_FALSE(actions.ok());
      EXPECT_EQ(actions.error().code, ErrorCode::kInvalid);
      EXPECT_EQ(EveryState(driver), before);
    }
  }
}

}  // namespace
}  // namespace tony::am
