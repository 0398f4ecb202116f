#include "tests/sim/timeline.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/sim/random.h"

namespace tony::sim {
namespace {

constexpr Instant kBegan = Timeline::kStart;

TEST(OwnClockTest, AClockWithoutDriftShowsTheTrueTimePlusItsOffset) {
  EXPECT_EQ(OwnClock().At(kBegan), kBegan);
  const OwnClock clock(kBegan, Duration(-300), 0);
  EXPECT_EQ(clock.At(kBegan + Duration(1'000)), kBegan + Duration(700));
  EXPECT_EQ(clock.TruthAt(kBegan + Duration(700)), kBegan + Duration(1'000));
}

TEST(OwnClockTest, AClockWithADriftOf10000PpmGainsOnePercent) {
  const OwnClock clock(kBegan, Duration(0), 10'000);
  EXPECT_EQ(clock.At(kBegan + Duration(100'000)), kBegan + Duration(101'000));
  EXPECT_EQ(clock.TruthAfter(kBegan, Duration(101'000)), kBegan + Duration(100'000));
}

TEST(OwnClockTest, AClockReadingMapsToTheEarliestTrueTime) {
  for (const int64_t drift : {-10'000, -37, 0, 99, 10'000}) {
    const OwnClock clock(kBegan, Duration(17), drift);
    for (int64_t own = 1; own < 3'000; own += 7) {
      const Instant truth = clock.TruthAt(kBegan + Duration(own));
      EXPECT_GE(clock.At(truth), kBegan + Duration(own));
      EXPECT_LT(clock.At(truth - Duration(1)), kBegan + Duration(own));
    }
  }
}

TEST(RandomTest, ASeedGivesTheSameNumbersOnEveryPlatform) {
  Random random(1);
  EXPECT_EQ(random.Next(), 12966619160104079557u);
  EXPECT_EQ(random.Next(), 9600361134598540522u);
}

TEST(RandomTest, ARandomRangeIncludesBothEnds) {
  Random random(7);
  std::set<int64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(random.Between(-1, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1, 2}));
}

TEST(RandomTest, DrawsFromAForkDoNotChangeTheNextDrawsOfTheParentGenerator) {
  Random one(7);
  Random other(7);
  one.Fork();
  Random fork = other.Fork();
  for (int i = 0; i < 10; ++i) fork.Next();
  EXPECT_EQ(one.Next(), other.Next());
}

}  // namespace
}  // namespace tony::sim
