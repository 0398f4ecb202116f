#include <gtest/gtest.h>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

JobSpec LimitsWith(const Settings& settings) {
  const auto parsed = ParseWith(settings);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? parsed->spec : JobSpec();
}

constexpr const char* kAllocation = "tony.container.allocation.timeout";
constexpr const char* kRegistration = "tony.container.registration.timeout";

TEST(TaskLimitsParserTest, WithoutKeysAnExecutionHasNoLimit) {
  EXPECT_EQ(LimitsWith({}).timers.execution_limit, Duration(0));
  EXPECT_EQ(LimitsWith({}).registry_timeout, Duration(0));
}

TEST(TaskLimitsParserTest, AnExecutionHasTheLimitOfEitherTonysKey) {
  EXPECT_EQ(LimitsWith({{"tony.task.executor.execution-timeout-ms", "2000"}}).timers.execution_limit, Duration(2000));
  EXPECT_EQ(LimitsWith({{"tony.worker.timeout", "3000"}}).timers.execution_limit, Duration(3000));
  const Settings both = {{"tony.worker.timeout", "3000"}, {"tony.task.executor.execution-timeout-ms", "2000"}};
  EXPECT_EQ(LimitsWith(both).timers.execution_limit, Duration(2000));
  EXPECT_EQ(
      WarningsWith(both),
      "tony.worker.timeout: \"3000\" (from -conf): no effect, as tony.task.executor.execution-timeout-ms is set\n");
  EXPECT_EQ(WarningsWith({{"tony.worker.timeout", "3000"}}), "");
}

TEST(TaskLimitsParserTest, TheMastersStartHasNoLimitUnlessTheJobSaysSo) {
  EXPECT_EQ(LimitsWith({}).startup_timeout, Duration(0));
  EXPECT_EQ(LimitsWith({{"tony.am.startup-timeout", "2000"}}).startup_timeout, Duration(2000));
  EXPECT_EQ(WarningsWith({{"tony.am.startup-timeout", "2000"}}), "");
}

TEST(TaskLimitsParserTest, TheRegistryTimeoutIsInSeconds) {
  EXPECT_EQ(LimitsWith({{"tony.task.executor.registry-timeout-sec", "2"}}).registry_timeout, Duration(2000));
  EXPECT_NE(ErrorWith({{"tony.task.executor.registry-timeout-sec", "-1"}}), "accepted");
}

TEST(TaskLimitsParserTest, TheAllocationTimeoutIsThatOfTheNewerTonyUnlessTheJobSaysOtherwise) {
  const JobSpec newer = LimitsWith({{kAllocation, "5000"}, {"tony.compat.version", "0.5.3"}});
  EXPECT_EQ(newer.allocation_timeout, Duration(5000));
  EXPECT_EQ(newer.registration_timeout, JobSpec().registration_timeout);
  const JobSpec older = LimitsWith({{kAllocation, "5000"}, {"tony.compat.version", "0.4.6"}});
  EXPECT_EQ(older.allocation_timeout, Duration(0));
  EXPECT_EQ(older.registration_timeout, Duration(5000));
  const JobSpec off = LimitsWith({{kAllocation, "-1"}, {"tony.compat.version", "0.4.6"}});
  EXPECT_GT(off.registration_timeout, Duration(std::chrono::years(5)));
}

TEST(TaskLimitsParserTest, WhoDoesNotSayWhichTonyIsMeantIsTold) {
  EXPECT_EQ(
      WarningsWith({{kAllocation, "5000"}}),
      "tony.container.allocation.timeout: \"5000\" (from -conf): limits the wait for containers, as in TonY 0.5.3; "
      "in 0.4.6 it was tony.container.registration.timeout. tony.compat.version says which is meant\n");
  EXPECT_EQ(WarningsWith({{kAllocation, "-1"}}), "");
  EXPECT_EQ(WarningsWith({{kAllocation, "5000"}, {kRegistration, "7000"}}), "") << "only 0.5.3 has both";
  EXPECT_EQ(WarningsWith({{kAllocation, "5000"}, {"tony.compat.version", "0.5.3"}}), "");
  EXPECT_EQ(WarningsWith({{kAllocation, "5000"}, {"tony.compat.version", "0.4.6"}}), "");
}

TEST(TaskLimitsParserTest, TheRegistrationsOwnKeyGoesFirst) {
  const Settings both = {{kAllocation, "5000"}, {kRegistration, "7000"}, {"tony.compat.version", "0.4.6"}};
  EXPECT_EQ(LimitsWith(both).registration_timeout, Duration(7000));
  EXPECT_EQ(
      WarningsWith(both),
      "tony.container.allocation.timeout: \"5000\" (from -conf): no effect, as tony.container.registration.timeout "
      "is set\n");
}

TEST(TaskLimitsParserTest, AnUnknownTonyIsRefused) {
  EXPECT_EQ(ErrorWith({{"tony.compat.version", "1.0"}}),
            "tony.compat.version: \"1.0\" (from -conf): expected 0.4.6 or 0.5.3");
}

}  // namespace
}  // namespace tony
