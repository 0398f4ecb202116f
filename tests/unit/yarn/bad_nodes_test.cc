#include <gmock/gmock.h>

#include "runtime/yarn/yarn_asks.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kBegin{std::chrono::hours(1)};

TEST(BadNodesTest, ANodeThatFailsTwiceIsAvoidedForAWhile) {
  BadNodes nodes;
  nodes.Failed("n1", kBegin);
  nodes.Failed("n2", kBegin);
  EXPECT_THAT(nodes.ToAvoid(4, kBegin), IsEmpty());
  nodes.Failed("n1", kBegin + std::chrono::minutes(9));
  EXPECT_THAT(nodes.ToAvoid(4, kBegin + std::chrono::minutes(9)), ElementsAre("n1"));
  EXPECT_THAT(nodes.ToAvoid(4, kBegin + std::chrono::minutes(10)), IsEmpty());
}

TEST(BadNodesTest, MoreThanHalfAreNotAvoided) {
  BadNodes nodes;
  for (const char* host : {"n1", "n2"}) {
    for (int i = 0; i < 2; ++i) nodes.Failed(host, kBegin);
  }
  EXPECT_THAT(nodes.ToAvoid(4, kBegin), ElementsAre("n1", "n2"));
  EXPECT_THAT(nodes.ToAvoid(3, kBegin), IsEmpty());
}

}  // namespace
}  // namespace tony
