#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/keeper/am_supervision.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = AmDeath::Kind;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""min;

const Instant kNow = FromMillis(1795253415000);

TEST(DeathBudgetTest, WaitsLongerAfterEachCrashAndGivesUpAtTheFifth) {
  DeathBudget budget;
  EXPECT_EQ(budget.Died({kNow}), 0ms);
  EXPECT_EQ(budget.Died({kNow + 1min}), 100ms);
  EXPECT_EQ(budget.Died({kNow + 2min}), 200ms);
  EXPECT_EQ(budget.Died({kNow + 3min}), 400ms);
  EXPECT_EQ(budget.Died({kNow + 5min}), std::nullopt);
}

TEST(DeathBudgetTest, CrashesOfLongAgoAreForgotten) {
  DeathBudget budget;
  Instant now = kNow;
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(budget.Died({now}), std::nullopt);
    now += 2min;
  }
}

TEST(DeathBudgetTest, BeingKilledIsNoCrashButHasAnEndToo) {
  DeathBudget budget;
  for (size_t i = 1; i < DeathBudget::kMostKills; ++i) EXPECT_EQ(budget.Died({kNow, Kind::kKilled}), 0ms);
  EXPECT_EQ(budget.Died({kNow}), 0ms) << "the first crash";
  EXPECT_EQ(budget.Died({kNow, Kind::kKilled}), std::nullopt);
}

TEST(DeathBudgetTest, AClockThatWasSetBackDoesNotMakeCrashesLast) {
  DeathBudget budget;
  for (int i = 0; i < 3; ++i) EXPECT_NE(budget.Died({kNow + 1000min}), std::nullopt);
  EXPECT_EQ(budget.Died({kNow}), 0ms);
}

TEST(AmDeathsTest, AreReadBackByTheNextKeeper) {
  const TempFolder temp;
  const JobRecords records = LocalJobRecords(temp.path());
  EXPECT_THAT(ReadDeaths(records), IsEmpty());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(RecordDeath(records, {kNow + i * 1ms}).ok());
  ASSERT_TRUE(RecordDeath(records, {kNow, Kind::kKilled}).ok());
  const auto deaths = ReadDeaths(records);
  ASSERT_THAT(deaths, SizeIs(5));
  EXPECT_EQ(deaths[3].time, kNow + 3ms);
  EXPECT_EQ(deaths[4].kind, Kind::kKilled);
  DeathBudget budget;
  budget.Restore(deaths);
  EXPECT_EQ(budget.Died({kNow + 4ms}), std::nullopt);
}

TEST(AmDeathsTest, WhatCannotBeReadIsLeftOut) {
  const TempFolder temp;
  std::ofstream(temp.path() / "am.deaths") << "x crashed\n12 sneezed\n\n12\n13 crashed\n14 cra";
  EXPECT_THAT(ReadDeaths(LocalJobRecords(temp.path())), SizeIs(1));
}

}  // namespace
}  // namespace tony::keeper
