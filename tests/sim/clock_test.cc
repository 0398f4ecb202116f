#include "tests/sim/clock.h"

#include <gtest/gtest.h>

#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

constexpr Instant kBegan = Timeline::kStart;

TEST(OwnClockTest, AClockWithoutADriftShowsTheTimeAndItsOffset) {
  EXPECT_EQ(OwnClock().At(kBegan), kBegan);
  const OwnClock clock(kBegan, Duration(-300), 0);
  EXPECT_EQ(clock.At(kBegan + Duration(1'000)), kBegan + Duration(700));
  EXPECT_EQ(clock.TruthAt(kBegan + Duration(700)), kBegan + Duration(1'000));
}

TEST(OwnClockTest, AFastClockGains) {
  const OwnClock clock(kBegan, Duration(0), 10'000);
  EXPECT_EQ(clock.At(kBegan + Duration(100'000)), kBegan + Duration(101'000));
  EXPECT_EQ(clock.TruthAfter(kBegan, Duration(101'000)), kBegan + Duration(100'000));
}

TEST(OwnClockTest, TheFirstMomentThatShowsATimeIsFound) {
  for (const int64_t drift : {-10'000, -37, 0, 99, 10'000}) {
    const OwnClock clock(kBegan, Duration(17), drift);
    for (int64_t own = 1; own < 3'000; own += 7) {
      const Instant truth = clock.TruthAt(kBegan + Duration(own));
      EXPECT_GE(clock.At(truth), kBegan + Duration(own));
      EXPECT_LT(clock.At(truth - Duration(1)), kBegan + Duration(own));
    }
  }
}

}  // namespace
}  // namespace tony::sim
