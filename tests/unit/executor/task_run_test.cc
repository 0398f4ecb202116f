#include "executor/task_run.h"

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

TEST(TaskRunTest, TheFirstThingIsToReadWhereTheAmIs) {
  const TaskRunDriver task;
  EXPECT_EQ(task.Count<ReadLease>(), 1);
  EXPECT_EQ(task.run.link(), Link::kSearching);
}

TEST(TaskRunTest, ItRegistersWithItsAddressWhenItKnowsTheAm) {
  TaskRunDriver task;
  task.Give(LeaseRead{LeaseOf(1)});
  EXPECT_EQ(task.Last<UseAm>().am, Address(Endpoint{"am.example", 7001}));
  const auto call = task.Last<SendRegister>();
  EXPECT_EQ(call.what.endpoint, (Endpoint{"task.example", 4711}));
  EXPECT_EQ(call.what.phase, Phase::kWaiting);
  EXPECT_EQ(call.caller.attempt, (AttemptId{{"worker", 3}, 2}));
  EXPECT_EQ(call.caller.token, "secret");
}

TEST(TaskRunTest, ItAwaitsFromTheBeginningOnceRegistered) {
  TaskRunDriver task;
  task.Register();
  EXPECT_EQ(task.run.link(), Link::kLinked);
  ASSERT_EQ(task.Count<SendAwait>(), 1);
  EXPECT_EQ(task.Last<SendAwait>().since, 0);
}

TEST(TaskRunTest, AStartRunsTheProcessAndAwaitsTheNextCommand) {
  TaskRunDriver task;
  task.Register();
  task.Start(10);
  EXPECT_EQ(task.Last<StartProcesses>().cluster_spec, "{spec}");
  EXPECT_EQ(task.Last<StartProcesses>().generation, Generation{1});
  EXPECT_EQ(task.Last<SendAwait>().since, 10);
  EXPECT_EQ(task.Last<SendAwait>().caller.generation, Generation{1});
}

TEST(TaskRunTest, TheProcessIsStartedOnceHoweverOftenItIsOrdered) {
  TaskRunDriver task;
  task.Register();
  task.Start(10);
  task.Start(10);
  task.Give(ProcessStarted{4242});
  task.Start(10);
  task.Start(13);
  EXPECT_EQ(task.Count<StartProcesses>(), 1);
}

TEST(TaskRunTest, AnOlderCommandIsNotObeyed) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000}, 9);
  EXPECT_EQ(task.run.state(), State::kRunning);
  EXPECT_EQ(task.Last<SendAwait>().since, 10);
}

TEST(TaskRunTest, NoNewsIsAwaitedOn) {
  TaskRunDriver task;
  task.Register();
  task.actions.clear();
  task.Order({.number = 0, .kind = Command::Kind::kNone});
  EXPECT_EQ(task.Count<SendAwait>(), 1);
  EXPECT_EQ(task.run.state(), State::kWaiting);
}

TEST(TaskRunTest, TheAmHearsOfTheRunningProcessAtOnce) {
  TaskRunDriver task;
  task.Register();
  task.Start();
  task.actions.clear();
  task.Give(ProcessStarted{4242});
  ASSERT_EQ(task.Count<SendHeartbeat>(), 1);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.phase, Phase::kRunning);
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.pid, 4242);
}

TEST(TaskRunTest, HeartbeatsComeAtTheirIntervalAndOneAtATime) {
  TaskRunDriver task;
  task.RunTask();
  task.Pass(milliseconds{999});
  EXPECT_EQ(task.Count<SendHeartbeat>(), 0);
  task.Pass(milliseconds{1});
  EXPECT_EQ(task.Count<SendHeartbeat>(), 1);
  task.Pass(seconds{3});
  EXPECT_EQ(task.Count<SendHeartbeat>(), 1) << "the first has not been answered";
  task.Give(HeartbeatAnswered{task.link});
  task.Pass(seconds{1});
  EXPECT_EQ(task.Count<SendHeartbeat>(), 2);
}

// The first may be answered late or, where answers overtake each other, not yet.
TEST(TaskRunTest, EachAnswerSaysWhichHeartbeatTheAmHasHeard) {
  for (const bool second : {false, true}) {
    TaskRunDriver task;
    task.Register();
    task.Start();
    task.Pass(seconds{1});
    const Instant before = task.Last<SendHeartbeat>().sent;
    task.Pass(milliseconds{900});
    task.Give(ProcessStarted{4242});
    const Instant after = task.Last<SendHeartbeat>().sent;
    EXPECT_EQ(after - before, milliseconds{900});
    task.Give(HeartbeatAnswered{task.link, second ? after : before});
    task.LoseAm();
    task.PassCutOff((second ? after : before) + Timers().cutoff_after - task.now - milliseconds{1}, LeaseOf(1, 7001));
    EXPECT_EQ(task.run.state(), State::kRunning);
    task.PassCutOff(milliseconds{1}, LeaseOf(1, 7001));
    EXPECT_EQ(task.run.state(), State::kStopping) << second;
  }
}

// ---- ends ----

TEST(TaskRunTest, ASuccessIsKeptAndThenReported) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  EXPECT_EQ(task.Count<KeepOutcome>(), 0) << "its tree may still be there";
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_EQ(task.Last<SendOutcome>().outcome, (Outcome{OutcomeClass::kSuccess, ExitCode(0), "", ""}));
  ASSERT_GE(task.IndexOf<KeepOutcome>(), 0);
  EXPECT_LT(task.IndexOf<KeepOutcome>(), task.IndexOf<SendOutcome>());
}

TEST(TaskRunTest, AFailureBringsTheLastWordsOfTheProcess) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(3), "Traceback: out of cheese\n");
  task.Give(TreeGone{});
  const Outcome expected{OutcomeClass::kUserError, ExitCode(3), "", "Traceback: out of cheese\n"};
  EXPECT_EQ(task.Last<KeepOutcome>().outcome, expected);
  EXPECT_EQ(task.Last<SendOutcome>().outcome, expected);
}

TEST(TaskRunTest, WhatWasSeenOfTheEndDecidesWhatItMeans) {
  TaskRunDriver task;
  task.RunTask();
  const Outcome judged{.cls = OutcomeClass::kOom,
                       .exit = ExitCode(3),
                       .message = "killed for want of memory",
                       .stderr_tail = "tail\n",
                       .advice = Advice::kPermanent};
  task.Give(ProcessExited{ExitCode(3), "tail\n", judged});
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<SendOutcome>().outcome, judged);
}

TEST(TaskRunTest, WhatWasStoppedIsNotJudged) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000});
  task.Give(ProcessExited{ExitCode(3), "", Outcome{OutcomeClass::kOom}});
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<SendOutcome>().outcome.cls, OutcomeClass::kKilled);
}

TEST(TaskRunTest, WhatAFinishedProcessLeavesBehindIsKilledUntilItIsGone) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Pass(seconds{1});
  EXPECT_GT(task.Signals().size(), 3u);
  EXPECT_THAT(task.Signals(), Each(SIGKILL));
  task.Give(TreeGone{});
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kSuccess);
}

TEST(TaskRunTest, AProcessThatCannotBeStartedIsAnOutcome) {
  TaskRunDriver task;
  task.Register();
  task.Start();
  const Outcome outcome{OutcomeClass::kInfra, std::nullopt, "start /bin/bash: no such file or directory", ""};
  task.Give(ProcessNotStarted{outcome});
  EXPECT_EQ(task.Last<SendOutcome>().outcome, outcome);
}

TEST(TaskRunTest, ItStaysUntilReleased) {
  TaskRunDriver task;
  task.RunTask();
  task.Exit(ExitCode(0));
  task.Give(TreeGone{});
  task.Give(OutcomeAcknowledged{task.link});
  task.PassLinked(seconds{100});
  EXPECT_EQ(task.Count<Leave>(), 0);
  task.Release();
  ASSERT_EQ(task.Count<Leave>(), 1);
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftReleased);
  EXPECT_FALSE(task.run.NextDeadline());
}

TEST(TaskRunTest, AfterItLeftNothingHappens) {
  TaskRunDriver task;
  task.Register();
  task.Release();
  task.actions.clear();
  task.Start(20);
  task.Give(TermSignal{});
  task.Give(Tick{});
  EXPECT_THAT(task.actions, IsEmpty());
}

}  // namespace
}  // namespace tony::executor
