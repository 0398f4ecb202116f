// NEXT: the same executor goes on with the task's next attempt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const AttemptId kThird{{"worker", 3}, 3};

TEST(TaskRunNextTest, AfterTheEndItBeginsTheNextAttemptAndRegistersAsThat) {
  TaskRunDriver task;
  task.EndTask();

  task.Next(3);

  EXPECT_EQ(task.run.state(), State::kWaiting);
  EXPECT_EQ(task.run.phase(), Phase::kWaiting);
  EXPECT_FALSE(task.run.outcome());
  EXPECT_EQ(task.Last<BeginAttempt>().attempt, kThird);
  EXPECT_EQ(PortOf(task.Last<UseAm>()), 7001);
  const auto call = task.Last<SendRegister>();
  EXPECT_EQ(call.caller.attempt, kThird);
  EXPECT_EQ(call.caller.container, ContainerId{"c-1"});
  EXPECT_EQ(call.caller.generation, Generation{1});
  EXPECT_EQ(call.what.endpoint, (Endpoint{"task.example", 4711})) << "others may know it";
  EXPECT_EQ(call.what.phase, Phase::kWaiting);
  EXPECT_EQ(call.what.pid, 0);
}

TEST(TaskRunNextTest, TheLockIsTakenBeforeAnyoneHearsOfTheAttempt) {
  TaskRunDriver task;
  task.EndTask();

  task.Next(3);

  ASSERT_GE(task.IndexOf<BeginAttempt>(), 0);
  EXPECT_LT(task.IndexOf<BeginAttempt>(), task.IndexOf<SendRegister>());
  EXPECT_EQ(task.Count<SendAwait>(), 0) << "not before it has registered";
}

TEST(TaskRunNextTest, TheNewAttemptAwaitsFromTheBeginning) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3, 1998);

  task.Give(Registered{task.link, {1}});

  EXPECT_EQ(task.Last<SendAwait>().since, 0);
  EXPECT_EQ(task.Last<SendAwait>().caller.attempt, kThird);
}

TEST(TaskRunNextTest, TheNewAttemptRunsEndsAndReportsAsAnyOther) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3);
  task.Give(Registered{task.link, {1}});
  task.Order({.number = 5, .kind = Command::Kind::kStart, .generation = {2}, .resume_from = "/ckpt/step-5"});
  EXPECT_EQ(task.Last<StartProcesses>().resume_from, "/ckpt/step-5");
  EXPECT_EQ(task.Last<StartProcesses>().generation, Generation{2});
  task.Give(ProcessStarted{5353});
  EXPECT_EQ(task.Last<SendHeartbeat>().progress.pid, 5353);
  EXPECT_EQ(task.Last<SendHeartbeat>().caller.generation, Generation{2});
  task.Exit(ExitCode(0));
  task.Give(TreeGone{});

  EXPECT_EQ(task.Last<SendOutcome>().caller.attempt, kThird);
  EXPECT_EQ(task.Last<SendOutcome>().outcome.cls, OutcomeClass::kSuccess);
  EXPECT_EQ(task.Count<KeepOutcome>(), 1);
  task.Next(4, 6);
  EXPECT_EQ(task.Last<BeginAttempt>().attempt.number, 4);
}

TEST(TaskRunNextTest, WhereSomethingOfTheAttemptIsLeftItIsNotObeyed) {
  const std::vector<std::function<void(TaskRunDriver&)>> ways = {
      [](TaskRunDriver& task) { task.Register(); },
      [](TaskRunDriver& task) {
        task.Register();
        task.Start();
      },
      [](TaskRunDriver& task) { task.RunTask(); },
      [](TaskRunDriver& task) {
        task.RunTask();
        task.Exit(ExitCode(1));
      },
      [](TaskRunDriver& task) {
        task.RunTask();
        task.Stop(Duration{1000});
      },
      [](TaskRunDriver& task) {
        task.RunTask();
        task.Stop(Duration{0});
        task.Pass(milliseconds{1});
      },
  };
  for (const auto& way : ways) {
    TaskRunDriver task;
    way(task);
    const State before = task.run.state();
    SCOPED_TRACE(ToString(before));

    task.Next(3, 20);

    EXPECT_EQ(task.run.state(), before);
    EXPECT_EQ(task.Count<BeginAttempt>(), 0);
    EXPECT_EQ(task.Last<SendAwait>().since, 20);
  }
}

TEST(TaskRunNextTest, AnAttemptThatIsNotNewerIsNotBegun) {
  for (const int attempt : {0, 1, 2}) {
    TaskRunDriver task;
    task.EndTask();
    task.Next(attempt);
    EXPECT_EQ(task.run.state(), State::kEnded) << attempt;
    EXPECT_THAT(task.All<BeginAttempt>(), IsEmpty());
  }
}

TEST(TaskRunNextTest, AttemptsMayBeLeftOut) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(7);
  EXPECT_EQ(task.Last<SendRegister>().caller.attempt.number, 7);
}

TEST(TaskRunNextTest, WhoIsAboutToLeaveDoesNotBeginAnother) {
  TaskRunDriver task;
  task.EndTask();
  task.Give(TermSignal{});
  ASSERT_EQ(task.run.state(), State::kEnded);

  task.Next(3);

  EXPECT_EQ(task.Count<BeginAttempt>(), 0);
  task.Give(OutcomeAcknowledged{task.link});
  EXPECT_EQ(task.Last<Leave>().exit_code, kLeftTerminated);
}

TEST(TaskRunNextTest, AStopThatEndedTheAttemptIsFollowedByTheNext) {
  TaskRunDriver task;
  task.RunTask();
  task.Stop(Duration{1000});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});

  task.Next(3);
  task.Give(Registered{task.link, {1}});
  task.Start(1);

  EXPECT_EQ(task.run.state(), State::kStarting);
}

TEST(TaskRunNextTest, LateAnswersToTheAttemptBeforeAreIgnored) {
  TaskRunDriver task;
  task.EndTask();
  const int64_t old_link = task.link;
  task.Next(3);
  task.actions.clear();

  task.Give(OutcomeAcknowledged{old_link});
  task.Give(HeartbeatAnswered{old_link});
  task.Give(CommandReceived{old_link, {.number = 99, .kind = Command::Kind::kRelease}});
  task.Give(Refused{old_link, RefusalReason::kStaleAttempt});
  task.Give(ConnectionLost{old_link});
  task.Give(TreeGone{});

  EXPECT_THAT(task.actions, IsEmpty());
  EXPECT_EQ(task.run.state(), State::kWaiting);
  EXPECT_EQ(task.run.link(), Link::kRegistering);
}

TEST(TaskRunNextTest, NothingMoreIsAskedOnTheOldLink) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3);
  EXPECT_THAT(task.All<SendAwait>(), IsEmpty());
  EXPECT_THAT(task.All<SendOutcome>(), IsEmpty());
}

TEST(TaskRunNextTest, AnAttemptWhoseFolderCannotBeMadeEndsAndIsReportedOnceThereIsALink) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3);

  task.Give(AttemptNotBegun{});

  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_EQ(task.run.outcome()->cls, OutcomeClass::kInfra);
  EXPECT_EQ(task.Count<SendOutcome>(), 0);
  task.Give(Registered{task.link, {1}});
  ASSERT_EQ(task.Count<SendOutcome>(), 1);
  EXPECT_EQ(task.Last<SendOutcome>().caller.attempt, kThird);
  task.Start(1);
  EXPECT_EQ(task.Count<StartProcesses>(), 0);
}

TEST(TaskRunNextTest, ANewAmIsFoundByTheNewAttempt) {
  TaskRunDriver task;
  task.EndTask();
  task.Next(3);
  task.LoseAm();
  task.Give(LeaseRead{LeaseOf(2, 7002)});

  EXPECT_EQ(PortOf(task.Last<UseAm>()), 7002);
  EXPECT_EQ(task.Last<SendRegister>().caller.attempt, kThird);
  EXPECT_EQ(task.Last<SendRegister>().what.phase, Phase::kWaiting);
}

TEST(TaskRunNextTest, AnAmThatDoesNotAnswerTheNewAttemptCutsItOffOrOrphansItAsEver) {
  TaskRunDriver cut_off, orphaned;
  for (TaskRunDriver* task : {&cut_off, &orphaned}) {
    task->EndTask();
    task->Next(3);
    task->LoseAm();
  }
  cut_off.PassCutOff(seconds{31}, LeaseOf(1));
  EXPECT_EQ(cut_off.run.outcome()->cls, OutcomeClass::kNodeLost);

  orphaned.Pass(minutes{29});
  EXPECT_EQ(orphaned.run.state(), State::kWaiting);
  orphaned.Pass(minutes{1});
  EXPECT_EQ(orphaned.Last<Leave>().exit_code, kLeftOrphaned);
}

TEST(TaskRunNextTest, AHeldExecutorStaysUntilItIsTold) {
  TaskRunDriver task;
  task.EndTask();
  task.PassLinked(minutes{5});
  EXPECT_EQ(task.run.state(), State::kEnded);
  EXPECT_EQ(task.Count<Leave>(), 0);
  task.Next(3);
  EXPECT_EQ(task.run.state(), State::kWaiting);
}

// ---- what the AM says of itself

TEST(TaskRunNextTest, AnAmThatSaysItDoesNotRuleCutsNobodyOff) {
  TaskRunDriver task;
  task.RunTask();
  for (int i = 0; i < 300; ++i) {
    task.Give(Refused{task.link, RefusalReason::kNotRuling});
    task.Pass(seconds{1});
    task.Give(LeaseRead{LeaseOf(1)});
  }
  EXPECT_EQ(task.run.state(), State::kRunning) << "who says so is there, and may rule again";
}

TEST(TaskRunNextTest, AnAmThatFallsSilentWhileItsRecordIsRenewedCutsOffEvenIfItOnceDidNotRule) {
  TaskRunDriver task;
  task.RunTask();
  task.Give(Refused{task.link, RefusalReason::kNotRuling});
  task.PassCutOff(seconds{35}, LeaseOf(1));
  EXPECT_EQ(task.run.state(), State::kStopping);
}

}  // namespace
}  // namespace tony::executor
