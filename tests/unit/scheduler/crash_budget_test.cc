#include <gtest/gtest.h>

#include "runtime/scheduler/local/am_supervision.h"

namespace tony::keeper {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""min;

TEST(CrashBudgetTest, WaitsLongerEachTimeAndGivesUpAtTheFifth) {
  CrashBudget budget;
  const Instant now{};
  EXPECT_EQ(budget.Crashed(now), 0ms);
  EXPECT_EQ(budget.Crashed(now + 1min), 100ms);
  EXPECT_EQ(budget.Crashed(now + 2min), 200ms);
  EXPECT_EQ(budget.Crashed(now + 3min), 400ms);
  EXPECT_EQ(budget.Crashed(now + 5min), std::nullopt);
}

TEST(CrashBudgetTest, CrashesOfLongAgoAreForgotten) {
  CrashBudget budget;
  Instant now{};
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(budget.Crashed(now), std::nullopt);
    now += 2min;
  }
}

}  // namespace
}  // namespace tony::keeper
