// The limit of an attempt's processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Duration kLimit{20'000};

Timers Limited() { return {.grace = seconds{5}, .execution_limit = kLimit}; }

TEST(TaskRunLimitTest, WhatRunsForTooLongIsStoppedAndTheOutcomeSaysWhy) {
  TaskRunDriver task(Limited());
  task.RunTask();
  task.PassLinked(kLimit - milliseconds{1});
  EXPECT_THAT(task.Signals(), IsEmpty());
  const Instant limit = task.now + milliseconds{1};
  task.Pass(milliseconds{1});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
  EXPECT_EQ(task.Last<GiveNotice>().reason, "ran longer than 20.0 s (tony.task.executor.execution-timeout-ms)");
  EXPECT_EQ(task.Last<GiveNotice>().deadline, limit + seconds{5});
  task.Exit(ExitCode(0), "the last line");
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<SendOutcome>().outcome,
            (Outcome{OutcomeClass::kTimeout, ExitCode(0),
                     "ran longer than 20.0 s (tony.task.executor.execution-timeout-ms)", "the last line"}));
}

TEST(TaskRunLimitTest, WhatMindsNoTermIsKilledAfterTheGrace) {
  TaskRunDriver task(Limited());
  task.RunTask();
  task.PassLinked(kLimit + seconds{5});
  task.Pass(milliseconds{1});
  EXPECT_EQ(task.Signals().front(), SIGTERM);
  EXPECT_EQ(task.Signals().back(), SIGKILL);
}

TEST(TaskRunLimitTest, ItHoldsWithoutAnApplicationMaster) {
  TaskRunDriver task(Limited());
  task.RunTask();
  task.LoseAm();
  task.Pass(kLimit);
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
}

TEST(TaskRunLimitTest, ItCountsFromTheStartOfTheProcessesNotWhileTheyWait) {
  TaskRunDriver task(Limited(), 0, 2);
  task.Register();
  task.PassLinked(kLimit);
  task.Start();
  task.Give(ProcessStarted{4242, 0});
  task.PassLinked(kLimit);
  EXPECT_THAT(task.Signals(), IsEmpty()) << "the second process has not started yet";
  task.Give(ProcessStarted{4243, 1});
  task.PassLinked(kLimit - milliseconds{1});
  EXPECT_THAT(task.Signals(), IsEmpty());
  task.PassLinked(milliseconds{1});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
}

TEST(TaskRunLimitTest, EachAttemptHasItAnew) {
  TaskRunDriver task(Limited());
  task.RunTask();
  task.PassLinked(kLimit - seconds{1});
  task.Exit(ExitCode(3));
  task.Give(TreeGone{});
  task.Give(OutcomeAcknowledged{task.link});
  task.Next(3);
  task.Register();
  task.Start(14);
  task.Give(ProcessStarted{4343});
  task.actions.clear();
  task.PassLinked(kLimit - seconds{1});
  EXPECT_THAT(task.Signals(), IsEmpty());
  task.PassLinked(seconds{1});
  EXPECT_THAT(task.Signals(), ElementsAre(SIGTERM));
}

TEST(TaskRunLimitTest, WhatHasEndedHasNoLimit) {
  TaskRunDriver task(Limited());
  task.EndTask(ExitCode(0));
  task.PassLinked(kLimit * 2);
  EXPECT_THAT(task.Signals(), IsEmpty());
}

TEST(TaskRunLimitTest, AStopThatCameBeforeStaysWhatItWas) {
  TaskRunDriver task(Limited());
  task.RunTask();
  task.PassLinked(kLimit - seconds{1});
  task.Stop(seconds{5});
  task.PassLinked(seconds{2});
  task.Exit(KilledBy(SIGTERM));
  task.Give(TreeGone{});
  EXPECT_EQ(task.Last<SendOutcome>().outcome.cls, OutcomeClass::kKilled);
}

}  // namespace
}  // namespace tony::executor
