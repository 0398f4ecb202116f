// Stops: by command, by signal, by refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- stops ----

TEST(TaskRunStopTest, AStopIsTermThenAfterTheGraceKillUntilGone) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.phase, Phase::kStopping);
  task.Give(HeartbeatAnswered{task.link});
  task.Forget<SignalTree>();
  task.Pass(milliseconds{4999});
  EXPECT_THAT(task.Signals(), IsEmpty());
  task.Pass(milliseconds{501});
  EXPECT_GT(task.Signals().size(), 2u);
  EXPECT_THAT(task.Signals(), Each(SIGKILL));
  task.Exit(KilledBy(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<SendOutcome>().outcome,
            (Outcome{OutcomeClass::kKilled, KilledBy(SIGKILL), "stopped by the application master", ""}));
}

TEST(TaskRunStopTest, ATaskThatIsStoppedForAReasonIsToldItBeforeTheSignal) {
  TaskRunDriver task;
  task.RunTask();
  const Instant stopped = task.now;
  Command stop{.number = 11, .kind = Command::Kind::kStop, .grace = seconds{5}, .reason = "preempted"};
  task.Order(stop);
  EXPECT_LT(task.IndexOf<GiveNotice>(), task.IndexOf<SignalTree>());
  EXPECT_EQ(task.Last<GiveNotice>().reason, "preempted");
  EXPECT_EQ(task.Last<GiveNotice>().deadline, stopped + seconds{5});
  task.Pass(seconds{3});
  stop.number = 12;
  task.Order(stop);
  EXPECT_EQ(task.Last<GiveNotice>().deadline, stopped + seconds{5}) << "a second stop gives no more time";
  stop.number = 13;
  stop.grace = seconds{1};
  task.Order(stop);
  EXPECT_EQ(task.Last<GiveNotice>().deadline, stopped + seconds{4});
}

TEST(TaskRunStopTest, ThereIsNoNoticeWithoutAReasonOrAProcess) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  EXPECT_EQ(task.Count<GiveNotice>(), 0);
  TaskRunDriver waiting;
  waiting.Register();
  waiting.Order({.number = 11, .kind = Command::Kind::kStop, .grace = seconds{5}, .reason = "preempted"});
  EXPECT_EQ(waiting.Count<GiveNotice>(), 0);
}

TEST(TaskRunStopTest, AStoppedProcessThatExitsLeavesItsTreeTheRestOfTheGrace) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  task.Exit(ExitCode(0));
  task.Forget<SignalTree>();
  task.Pass(seconds{4});
  EXPECT_THAT(task.Signals(), Each(0));
  EXPECT_FALSE(task.Signals().empty());
  task.Forget<SignalTree>();
  task.Pass(seconds{2});
  EXPECT_THAT(task.Signals(), ::testing::Contains(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kKilled);
  EXPECT_EQ(task.run.outcome()->exit, ExitCode(0));
}

TEST(TaskRunStopTest, AnEmptyTreeWithAnUnreapedProcessIsNotTheEnd) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunStopTest, ASecondStopMayOnlyShortenTheGrace) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5}, 11);
  task.Stop(seconds{60}, 12);
  task.Stop(seconds{1}, 13);
  task.Pass(milliseconds{999});
  EXPECT_EQ(task.run.state(), State::kStopping);
  task.Pass(milliseconds{1});
  EXPECT_EQ(task.run.state(), State::kKilling);
}

TEST(TaskRunStopTest, AStopBeforeTheStartEndsItWithoutAProcess) {
  TaskRunDriver task;
  task.Register();
  task.Stop(seconds{5});
  EXPECT_EQ(task.Last<SendOutcome>().outcome.cls, OutcomeClass::kKilled);
  EXPECT_FALSE(task.Last<SendOutcome>().outcome.exit);
  task.Start(20);
  EXPECT_EQ(task.Count<StartProcesses>(), 0);
}

TEST(TaskRunStopTest, AStopWhileTheProcessIsBeingStartedReachesIt) {
  TaskRunDriver task;
  task.Register();
  task.Start();
  task.Stop(seconds{5});
  task.Forget<SignalTree>();
  task.Give(ProcessStarted{4242});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunStopTest, AProcessThatAppearsAfterTheGraceIsKilled) {
  TaskRunDriver task;
  task.Register();
  task.Start();
  task.Stop(seconds{0});
  task.Pass(milliseconds{1});
  task.Forget<SignalTree>();
  task.Give(ProcessStarted{4242});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGKILL));
}

TEST(TaskRunStopTest, AStopThatComesAfterTheEndKeepsTheRealOutcome) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(3));
  task.Stop(seconds{5});
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kUserError);
}

TEST(TaskRunStopTest, AReleaseOfARunningTaskStopsItAndLeaves) {
  TaskRunDriver task;
  task.RunTask();
  task.Release();
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<KeepOutcome>(), 1);
  ASSERT_EQ(task.Count<Leave>(), 1);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
}

// ---- SIGTERM ----

TEST(TaskRunStopTest, OnSigtermItStopsTheTaskKeepsTheOutcomeAndLeaves) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(TermSignal{});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<SendOutcome>(), 0) << "its scheduler knows why";
  EXPECT_EQ(task.Last<KeepOutcome>().outcome.message, "its executor was terminated");
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTerminated);
}

TEST(TaskRunStopTest, OnSigtermAFailureThatCameBeforeIsReported) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(3));
  task.Give(TermSignal{});
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<SendOutcome>(), 1);
  EXPECT_EQ(task.Count<Leave>(), 0);
  task.Give(OutcomeAcknowledged{task.link});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTerminated);
}

TEST(TaskRunStopTest, OnSigtermItTriesToReportForTwoSecondsOnly) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Exit(ExitCode(3));
  task.Give(TermSignal{});
  task.Give(TreeGone{});
  task.Pass(milliseconds{1999});
  EXPECT_EQ(task.Count<Leave>(), 0);
  task.Pass(milliseconds{1});
  ASSERT_EQ(task.Count<Leave>(), 1);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTerminated);
}

TEST(TaskRunStopTest, OnSigtermAfterTheEndItReportsOnceMoreAndLeaves) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Give(TreeGone{});
  task.Give(OutcomeAcknowledged{task.link});
  task.actions.clear();
  task.Give(TermSignal{});
  EXPECT_EQ(task.Count<SendOutcome>(), 1);
  task.Give(OutcomeAcknowledged{task.link});
  EXPECT_EQ(task.Count<Leave>(), 1);
}

TEST(TaskRunStopTest, ASecondSigtermChangesNothing) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(TermSignal{});
  task.actions.clear();
  task.Give(TermSignal{});
  EXPECT_THAT(task.actions, IsEmpty());
}

// ---- refusals ----

TEST(TaskRunStopTest, AnAttemptThatIsNotWantedStopsAndLeavesWithoutAReport) {
  for (const auto reason :
       {RefusalReason::kStaleAttempt, RefusalReason::kUnknownAttempt, RefusalReason::kBadProtocol}) {
    TaskRunDriver task;
    task.RunTask();
    task.Give(Refused{task.link, reason});
    EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
    task.Pass(Timers{}.grace);
    EXPECT_EQ(task.run.state(), State::kKilling);
    task.Exit(KilledBy(SIGKILL));
    task.Give(TreeGone{});
    EXPECT_EQ(task.Count<SendOutcome>(), 0);
    ASSERT_EQ(task.Count<Leave>(), 1);
    EXPECT_EQ(task.Last<Leave>().exit_code, kLeftRefused);
  }
}

TEST(TaskRunStopTest, AWaitingExecutorThatIsRefusedLeavesAtOnce) {
  for (const auto reason : {RefusalReason::kStaleAttempt, RefusalReason::kUnknownAttempt, RefusalReason::kWrongJob,
                            RefusalReason::kBadToken, RefusalReason::kBadProtocol}) {
    TaskRunDriver task;
    task.Give(LeaseRead{LeaseOf(1)});
    task.Give(Refused{task.link, reason});
    EXPECT_EQ(task.Last<Leave>().exit_code, kLeftRefused) << ToString(reason);
  }
}

TEST(TaskRunStopTest, AnotherJobsAmOnTheOldPortDoesNotEndTheTask) {
  for (const auto reason : {RefusalReason::kWrongJob, RefusalReason::kBadToken}) {
    TaskRunDriver task;
    task.RunTask();
    task.LoseAm();
    task.Give(LeaseRead{LeaseOf(1)});
    task.Give(Refused{task.link, reason});
    EXPECT_EQ(task.run.state(), State::kRunning);
    EXPECT_EQ(task.run.link(), Link::kSearching);
  }
}

TEST(TaskRunStopTest, ATreeThatOutlivesSigkillIsLeftToTheKeeperWithoutAnEnd) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(3), "boom");
  const TreeLives lives{"2 processes, process 4711 for one"};
  task.PassLinked(Duration{29'000});
  task.Give(lives);
  EXPECT_EQ(task.run.state(), State::kSweeping);
  task.PassLinked(Duration{1'000});
  task.actions.clear();
  task.Give(lives);
  EXPECT_EQ(task.run.state(), State::kLeft);
  EXPECT_EQ(task.Last<WarnOfTree>().what, "2 processes, process 4711 for one, not ended by SIGKILL for 30 s");
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTreeAlive);
  EXPECT_EQ(task.Last<KeepOutcome>().outcome.exit, ExitCode(3));
  EXPECT_EQ(task.Last<KeepOutcome>().outcome.message, task.Last<WarnOfTree>().what);
  EXPECT_EQ(task.Count<SendOutcome>(), 0) << "the AM hears of no end before the container's";
}

TEST(TaskRunStopTest, AStoppedTreeThatOutlivesSigkillIsLeftToTheKeeper) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000});
  task.Exit(KilledBy(SIGTERM));
  task.PassLinked(Duration{1000});
  ASSERT_EQ(task.run.state(), State::kKilling);
  task.PassLinked(Duration{30'000});
  task.Give(TreeLives{"1 process, process 4711 for one"});
  EXPECT_EQ(task.run.state(), State::kLeft);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTreeAlive);
  EXPECT_EQ(task.Last<KeepOutcome>().outcome.exit, KilledBy(SIGTERM));
}

TEST(TaskRunStopTest, ATreeInTheKernelsHandsIsWaitedForAndSaidOnceInAWhile) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000});
  task.PassLinked(Duration{1000});
  ASSERT_EQ(task.run.state(), State::kKilling);
  const TreeLives lives{"1 process, process 4711 for one", /*in_kernel=*/true};
  for (int i = 0; i < 65; ++i) {
    task.PassLinked(Duration{1000});
    task.Give(lives);
  }
  EXPECT_EQ(task.run.state(), State::kKilling);
  EXPECT_EQ(task.Count<WarnOfTree>(), 2);
  EXPECT_EQ(task.Count<KeepOutcome>(), 0);
  task.Exit(KilledBy(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kEnded);
}

TEST(TaskRunStopTest, ATreeThatStaysInTheKernelsHandsIsLeftToTheKeeperAfterFiveMinutes) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  const TreeLives lives{"1 process, process 4711 for one", /*in_kernel=*/true};
  for (int i = 0; i < 299; ++i) {
    task.PassLinked(Duration{1000});
    task.Give(lives);
  }
  EXPECT_EQ(task.run.state(), State::kSweeping);
  task.PassLinked(Duration{1000});
  task.actions.clear();
  task.Give(lives);
  EXPECT_EQ(task.run.state(), State::kLeft);
  EXPECT_EQ(task.Last<WarnOfTree>().what, "1 process, process 4711 for one, not ended by SIGKILL for 300 s");
  EXPECT_TRUE(task.Last<KeepOutcome>().outcome.Succeeded());
}

TEST(TaskRunStopTest, TheNextAttemptHasAllItsTimeToBeEnded) {
  TaskRunDriver task;
  task.EndTask();
  task.PassLinked(Duration{60'000});
  task.Next(3);
  task.Give(Registered{task.link, {1}});
  task.Start(20);
  task.Give(ProcessStarted{4243});
  task.Exit(ExitCode(3));
  task.Give(TreeLives{"1 process, process 4711 for one"});
  EXPECT_EQ(task.run.state(), State::kSweeping);
}

}  // namespace
}  // namespace tony::executor
