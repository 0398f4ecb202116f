// Tasks of several processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TaskRunDriver OfThree() { return TaskRunDriver({}, 0, 3); }

TaskRunDriver ThreeThatRun() {
  TaskRunDriver task = OfThree();
  task.RunTask();
  return task;
}

TEST(TaskRunProcessesTest, TheTaskRunsWhenAllHaveBeenStarted) {
  TaskRunDriver task = OfThree();
  task.Register();
  task.Start();
  EXPECT_EQ(task.Count<StartProcesses>(), 1);
  task.Give(ProcessStarted{4242, 0});
  task.Give(ProcessStarted{4243, 1});
  EXPECT_EQ(task.run.state(), State::kStarting);
  task.Give(ProcessStarted{4244, 2});
  EXPECT_EQ(task.run.state(), State::kRunning);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.pid, 4242) << "the first one's";
}

TEST(TaskRunProcessesTest, OneThatEndsWellLeavesTheOthersRunning) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(0, ExitCode(0));
  task.ExitOf(2, ExitCode(0));
  EXPECT_EQ(task.run.state(), State::kRunning);
  EXPECT_THAT(task.Signals(), IsEmpty());
  task.ExitOf(1, ExitCode(0));
  EXPECT_EQ(task.run.state(), State::kSweeping);
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome(), (Outcome{OutcomeClass::kSuccess, ExitCode(0), "", ""}));
}

TEST(TaskRunProcessesTest, TheAmIsToldThePidOfTheFirstAsLongAsThatRuns) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(2, ExitCode(0));
  task.Pass(Timers().heartbeat);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.pid, 4242);
  task.Give(HeartbeatAnswered{task.link, task.now});
  task.ExitOf(0, ExitCode(0));
  task.Pass(Timers().heartbeat);
  EXPECT_EQ(task.Count<SendHeartbeat>(), 2);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.pid, 0);
}

TEST(TaskRunProcessesTest, WhenOneFailsTheOthersHaveTheGraceAndAreKilled) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(1, ExitCode(3));
  EXPECT_EQ(task.run.state(), State::kStopping);
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.ExitOf(0, KilledBy(SIGTERM));
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.Pass(Timers().grace - Duration(1));
  EXPECT_EQ(task.run.state(), State::kStopping);
  task.Pass(Duration(1));
  EXPECT_EQ(task.run.state(), State::kKilling);
  EXPECT_EQ(task.Signals().back(), SIGKILL);
  EXPECT_FALSE(task.run.outcome()) << "one lives";
}

TEST(TaskRunProcessesTest, TheFirstThatFailsIsTheOutcomeOnceNothingIsLeft) {
  TaskRunDriver task = ThreeThatRun();
  const Outcome judged = {OutcomeClass::kUserError, ExitCode(3), "out of luck", "boom\n"};
  task.Give(ProcessExited{ExitCode(3), "", judged, 1});
  task.ExitOf(0, ExitCode(4));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kStopping) << "the third has not been reaped";
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  task.ExitOf(2, KilledBy(SIGTERM));
  task.Give(TreeGone{});
  Outcome expected = judged;
  expected.process = 1;
  EXPECT_EQ(task.run.outcome(), expected);
  EXPECT_EQ(task.Last<SendOutcome>().outcome, expected);
}

TEST(TaskRunProcessesTest, TheLastOneMayFailAlone) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(0, ExitCode(0));
  task.ExitOf(1, ExitCode(0));
  task.ExitOf(2, ExitCode(5));
  EXPECT_EQ(task.run.state(), State::kSweeping) << "nobody is left to be asked";
  EXPECT_THAT(task.Signals(), ElementsAre(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->process, 2);
  EXPECT_EQ(task.run.outcome()->exit, ExitCode(5));
}

TEST(TaskRunProcessesTest, AStopEndsAllAndNamesNone) {
  TaskRunDriver task = ThreeThatRun();
  task.Stop(Duration(1000));
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.ExitOf(2, KilledBy(SIGTERM));
  task.ExitOf(0, ExitCode(1));
  task.ExitOf(1, ExitCode(0));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kKilled);
  EXPECT_EQ(task.run.outcome()->exit, KilledBy(SIGTERM));
  EXPECT_EQ(task.run.outcome()->process, std::nullopt);
}

TEST(TaskRunProcessesTest, AStopAfterAFailureChangesItsGraceAlone) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(1, ExitCode(3));
  task.Stop(Duration(100));
  task.Pass(Duration(100));
  EXPECT_EQ(task.run.state(), State::kKilling);
  task.ExitOf(0, KilledBy(SIGKILL));
  task.ExitOf(2, KilledBy(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->exit, ExitCode(3));
  EXPECT_EQ(task.run.outcome()->process, 1);
}

TEST(TaskRunProcessesTest, ThoseThatWereStartedEndWhenAnotherCannotBe) {
  TaskRunDriver task = OfThree();
  task.Register();
  task.Start();
  task.Give(ProcessStarted{4242, 0});
  task.Give(ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no fork", ""}, 1});
  EXPECT_EQ(task.run.state(), State::kStopping);
  EXPECT_EQ(task.Signals().back(), SIGTERM);
  EXPECT_FALSE(task.run.outcome());
  task.ExitOf(0, KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome(), (Outcome{.cls = OutcomeClass::kInfra, .message = "no fork", .process = 1}));
}

TEST(TaskRunProcessesTest, WhenTheFirstCannotBeStartedTheAttemptHasEnded) {
  TaskRunDriver task = OfThree();
  task.Register();
  task.Start();
  task.Give(ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no fork", ""}, 0});
  EXPECT_EQ(task.run.outcome(), (Outcome{OutcomeClass::kInfra, std::nullopt, "no fork", ""}));
}

TEST(TaskRunProcessesTest, AStopThatCameBeforeTheStartReachesAll) {
  TaskRunDriver task = OfThree();
  task.Register();
  task.Start();
  task.Stop(Duration(1000));
  task.Forget<SignalTree>();
  task.Give(ProcessStarted{4242, 0});
  task.Give(ProcessStarted{4243, 1});
  EXPECT_THAT(task.Signals(), IsEmpty());
  task.Give(ProcessStarted{4244, 2});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  TaskRunDriver other = OfThree();
  other.Register();
  other.Start();
  other.Stop(Duration(1000));
  other.Give(ProcessStarted{4242, 0});
  other.Forget<SignalTree>();
  other.Give(ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no fork", ""}, 1});
  EXPECT_THAT(other.Signals(), ElementsAre(SIGTERM));
  other.ExitOf(0, KilledBy(SIGTERM));
  other.Give(TreeGone{});
  EXPECT_EQ(other.run.outcome()->cls, OutcomeClass::kKilled);
}

TEST(TaskRunProcessesTest, TheNextAttemptHasAllOfThemAgain) {
  TaskRunDriver task = ThreeThatRun();
  task.ExitOf(0, ExitCode(3));
  task.ExitOf(1, KilledBy(SIGTERM));
  task.ExitOf(2, KilledBy(SIGTERM));
  task.Give(TreeGone{});
  task.Next(3);
  task.Give(Registered{task.link, {1}});
  task.Start(20);
  for (int i = 0; i < 3; ++i) task.Give(ProcessStarted{5000 + i, i});
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.ExitAll(ExitCode(0));
  task.Give(TreeGone{});
  EXPECT_TRUE(task.run.outcome()->Succeeded());
}

}  // namespace
}  // namespace tony::executor
