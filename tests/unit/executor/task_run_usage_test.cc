#include <gtest/gtest.h>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

Usage Used(int64_t memory_bytes) { return {.samples = 1, .memory_bytes = memory_bytes}; }

TEST(TaskRunUsageTest, AHeartbeatTellsTheNewestUsage) {
  TaskRunDriver driver;
  driver.RunTask();
  driver.PassLinked(Duration{2000});
  driver.Give(UsageMeasured{Used(1)});
  driver.Give(UsageMeasured{Used(2)});
  EXPECT_EQ(driver.Count<SendHeartbeat>(), 0) << "it waits for the next one";
  driver.Pass(Duration{2000});
  EXPECT_EQ(driver.Last<SendHeartbeat>().progress.usage, Used(2));
}

TEST(TaskRunUsageTest, BeforeTheFirstSampleNothingIsTold) {
  TaskRunDriver driver;
  driver.Register();
  driver.Start();
  driver.Give(ProcessStarted{4242});
  EXPECT_EQ(driver.Last<SendHeartbeat>().progress.usage, std::nullopt);
}

TEST(TaskRunUsageTest, TheOutcomeHoldsAllThatWasUsed) {
  TaskRunDriver driver;
  driver.RunTask();
  driver.Give(UsageMeasured{Used(1)});
  driver.Exit(ExitCode(3));
  driver.Give(UsageMeasured{Used(9)});
  driver.Give(TreeGone{});
  EXPECT_EQ(driver.Last<KeepOutcome>().outcome.usage, Used(9));
  EXPECT_EQ(driver.Last<SendOutcome>().outcome.usage, Used(9));
}

TEST(TaskRunUsageTest, AnAttemptThatNeverRanUsedNothing) {
  TaskRunDriver driver;
  driver.Register();
  driver.Stop(Duration{0});
  ASSERT_EQ(driver.Count<SendOutcome>(), 1);
  EXPECT_EQ(driver.Last<SendOutcome>().outcome.usage, std::nullopt);
}

TEST(TaskRunUsageTest, TheNextAttemptBeginsWithNone) {
  TaskRunDriver driver;
  driver.RunTask();
  driver.Give(UsageMeasured{Used(1)});
  driver.Exit(ExitCode(3));
  driver.Give(TreeGone{});
  driver.Give(OutcomeAcknowledged{driver.link});
  driver.Next(3);
  driver.Give(Registered{driver.link, {1}});
  driver.actions.clear();
  driver.Start(20);
  driver.Give(ProcessStarted{4243});
  ASSERT_EQ(driver.Count<SendHeartbeat>(), 1);
  EXPECT_EQ(driver.Last<SendHeartbeat>().progress.usage, std::nullopt);
}

}  // namespace
}  // namespace tony::executor
