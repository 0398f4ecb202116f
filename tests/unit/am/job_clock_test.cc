#include "am/core/job_clock.h"

#include <gtest/gtest.h>

namespace tony::am {
namespace {

constexpr Instant kWall = Instant(Duration(1'700'000'000'000));
constexpr Duration kHours = std::chrono::hours(8);
const KeptClock kKept{"boot-1", Duration(1'699'999'000'000)};

Instant Now(const std::optional<KeptClock>& kept, const std::string& boot, Instant wall,
            std::optional<Instant> newest) {
  return NowOfJob(kept, {boot, Duration(1'000'000), wall}, newest);
}

TEST(JobClockTest, AJobUsesWallTimeIfNoJobClockIsSaved) {
  EXPECT_EQ(Now(std::nullopt, "boot-1", kWall, std::nullopt), kWall);
}

TEST(JobClockTest, TheSavedJobClockIgnoresWallClockStepsUntilTheNextReboot) {
  for (const Duration step : {Duration(0), kHours, -kHours})
    EXPECT_EQ(Now(kKept, "boot-1", kWall + step, kWall - Duration(5)), kWall) << step.count();
}

TEST(JobClockTest, TheJobClockFollowsWallTimeAfterARebootButNeverGoesBackwards) {
  EXPECT_EQ(Now(kKept, "boot-2", kWall + kHours, kWall), kWall + kHours);
  EXPECT_EQ(Now(kKept, "boot-2", kWall - kHours, kWall), kWall);
  EXPECT_EQ(Now(std::nullopt, "boot-2", kWall - kHours, kWall), kWall) << "of the release before";
}

TEST(JobClockTest, AJobUsesWallTimeIfTheBootIdIsUnknown) { EXPECT_EQ(Now(KeptClock{}, "", kWall, {}), kWall); }

}  // namespace
}  // namespace tony::am
