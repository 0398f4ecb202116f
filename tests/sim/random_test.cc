#include "tests/sim/random.h"

#include <gtest/gtest.h>

#include <set>

namespace tony::sim {
namespace {

TEST(RandomTest, TheNumbersOfASeedAreTheSameEverywhere) {
  Random random(1);
  EXPECT_EQ(random.Next(), 12966619160104079557u);
  EXPECT_EQ(random.Next(), 9600361134598540522u);
}

TEST(RandomTest, BothEndsOfARangeArePossible) {
  Random random(7);
  std::set<int64_t> seen;
  for (int i = 0; i < 100; ++i) seen.insert(random.Between(-1, 2));
  EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1, 2}));
}

TEST(RandomTest, AForkDoesNotShiftWhatItsOriginDrawsNext) {
  Random one(7);
  Random other(7);
  one.Fork();
  Random fork = other.Fork();
  for (int i = 0; i < 10; ++i) fork.Next();
  EXPECT_EQ(one.Next(), other.Next());
}

}  // namespace
}  // namespace tony::sim
