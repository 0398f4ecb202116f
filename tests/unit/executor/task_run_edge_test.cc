// Where one thing meets another: equal times, repeated numbers, two reasons to leave, orders of actions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- commands ----

TEST(TaskRunEdgeTest, ACommandOfANumberThatWasObeyedIsNotObeyedAgain) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5}, 10);
  EXPECT_EQ(task.run.state(), State::kRunning);
  task.Stop(seconds{5}, 11);
  EXPECT_EQ(task.run.state(), State::kStopping);
}

TEST(TaskRunEdgeTest, TheAttemptItHasIsNotItsNext) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(2);
  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_THAT(task.All<BeginAttempt>(), IsEmpty());
  task.Next(3, 14);
  EXPECT_EQ(task.Last<BeginAttempt>().attempt.number, 3);
}

TEST(TaskRunEdgeTest, TheNextAttemptIsBegunBeforeItIsRegistered) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3);
  ASSERT_EQ(task.Count<SendRegister>(), 1);
  EXPECT_LT(task.IndexOf<BeginAttempt>(), task.IndexOf<UseAm>());
  EXPECT_LT(task.IndexOf<UseAm>(), task.IndexOf<SendRegister>());
}

TEST(TaskRunEdgeTest, ATaskIsStoppedBeforeTheAmHearsOfIt) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  ASSERT_EQ(task.Count<SendHeartbeat>(), 1);
  EXPECT_LT(task.IndexOf<SignalTree>(), task.IndexOf<SendHeartbeat>());
}

// ---- ends ----

TEST(TaskRunEdgeTest, AProcessThatEndsInItsGraceDoesNotTakeTheGraceFromTheRest) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(seconds{5});
  task.Forget<SignalTree>();
  task.Exit(ExitCode(0));
  EXPECT_THAT(task.Signals(), ElementsAre(0));
}

TEST(TaskRunEdgeTest, AStopThatMeetsAStartThatFailsIsTheEnd) {
  for (const Duration grace : {Duration{seconds{5}}, Duration{0}}) {
    TaskRunDriver task;
    task.Register();
    task.Start();
    task.Stop(grace);
    task.Pass(milliseconds{1});
    ASSERT_EQ(task.run.state(), grace == Duration{0} ? State::kKilling : State::kStopping);
    task.Give(ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no such program", ""}});
    ASSERT_EQ(task.run.state(), State::kEnded);
    EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kKilled) << "it would have been stopped anyway";
    EXPECT_EQ(task.Count<SendOutcome>(), 1);
  }
}

TEST(TaskRunEdgeTest, AnAttemptWhoseProcessCouldNotBeStartedHasEndedAndMayBeReleased) {
  TaskRunDriver task;
  task.Register();
  task.Start();
  task.Give(ProcessNotStarted{{OutcomeClass::kInfra, std::nullopt, "no such program", ""}});
  EXPECT_EQ(task.run.state(), State::kEnded);
  task.Release();
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
}

TEST(TaskRunEdgeTest, WhatDoesNotDieIsLookedAtLessAndLessOftenButFourTimesASecond) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Pass(milliseconds{700});
  const auto early = task.Signals().size();
  EXPECT_THAT(early, ::testing::AllOf(::testing::Ge(7u), ::testing::Le(10u)));
  task.Pass(seconds{10});
  EXPECT_EQ(task.Signals().size() - early, 40u);
}

// ---- reasons to leave ----

TEST(TaskRunEdgeTest, OneThatIsNotToReportDoesNotBeginToWhenItIsTerminated) {
  TaskRunDriver task;
  task.RunTask();
  task.Release();
  task.Give(TermSignal{});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
}

TEST(TaskRunEdgeTest, OneThatWasTerminatedNeedNotReportOnceItIsReleased) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(TermSignal{});
  task.Release();
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
}

TEST(TaskRunEdgeTest, OfTwoReasonsToLeaveAtOnceTheFirstIsTold) {
  TaskRunDriver task;
  task.RunTask();
  task.Release();
  task.Give(Refused{task.link, RefusalReason::kStaleAttempt});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
}

TEST(TaskRunEdgeTest, ASecondSigtermGivesNoMoreTimeToReport) {
  TaskRunDriver task;
  task.EndTask();
  task.LoseAm();
  task.Give(TermSignal{});
  task.Pass(seconds{1});
  task.Give(TermSignal{});
  task.Pass(milliseconds{999});
  EXPECT_EQ(task.Count<Leave>(), 0);
  task.Pass(milliseconds{1});
  EXPECT_EQ(task.Count<Leave>(), 1);
}

// ---- the link ----

TEST(TaskRunEdgeTest, ANewAmHearsAtOnceThatTheProcessRuns) {
  TaskRunDriver task;
  task.RunTask();
  task.LoseAm();
  task.Register(2);
  EXPECT_EQ(task.Count<SendHeartbeat>(), 1);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.phase, Phase::kRunning);
}

TEST(TaskRunEdgeTest, AnAmThatTakesTheCallAndNeverAnswersIsNoAm) {
  TaskRunDriver cut_off;
  cut_off.RunTask();
  cut_off.LoseAm();
  for (int i = 0; i < 124; ++i) {
    cut_off.Give(LeaseRead{LeaseOf(1, 7001, i)});
    cut_off.Pass(milliseconds{250});
    ASSERT_EQ(cut_off.run.link(), Link::kRegistering);
  }
  EXPECT_EQ(cut_off.run.state(), State::kStopping);

  TaskRunDriver orphan;
  orphan.RunTask();
  orphan.LoseAm();
  orphan.Give(LeaseRead{LeaseOf(1)});
  orphan.Pass(minutes{30});
  EXPECT_EQ(orphan.run.link(), Link::kRegistering);
  EXPECT_EQ(orphan.run.state(), State::kStopping);
}

TEST(TaskRunEdgeTest, ARecordThatGetsStaleJustWhenItWouldBeCutOffMakesItAnOrphan) {
  const Timers timers;
  for (const Duration late : {Duration{0}, Duration{1}}) {
    TaskRunDriver task;
    task.RunTask();
    task.LoseAm();
    const Instant last_sign = task.now + timers.cutoff_after - timers.record_fresh + late;
    while (task.now < last_sign) {
      task.Pass(std::min(timers.record_fresh - milliseconds{1}, last_sign - task.now));
      task.Give(LeaseUnreadable{});
      if (task.run.link() == Link::kRegistering) task.LoseAm();
    }
    task.Pass(timers.record_fresh);
    EXPECT_EQ(task.run.state(), late == Duration{0} ? State::kRunning : State::kStopping);
  }
}

}  // namespace
}  // namespace tony::executor
