#include "executor/lease_sight.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using std::chrono::seconds;

constexpr Instant kStart{seconds{1000}};

SeenLease Renewal(int64_t renewal) { return {{1}, SocketName{"am.1.sock"}, renewal}; }

TEST(LeaseSightTest, NothingReadMeansNobodyAlive) {
  LeaseSight sight(seconds{15});
  EXPECT_FALSE(sight.alive());
  sight.Read(std::nullopt, kStart);
  EXPECT_FALSE(sight.alive());
}

TEST(LeaseSightTest, ARecordThatDoesNotChangeIsStaleAfterItsTime) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{10});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{15});
}

TEST(LeaseSightTest, ARenewedRecordStaysFreshWithoutABreak) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(2), kStart + seconds{10});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{25});
}

TEST(LeaseSightTest, AfterABreakItIsAliveAnew) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{15});
  sight.Read(Renewal(2), kStart + seconds{16});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{16});
}

TEST(LeaseSightTest, TheBreakBeginsInTheMomentThatTheRecordIsStale) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Read(Renewal(1), kStart + seconds{15});
  sight.Read(Renewal(2), kStart + seconds{15});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{15});
}

TEST(LeaseSightTest, AGapInWhichNobodyLookedIsNoBreak) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.Unreadable(kStart + seconds{60});
  EXPECT_EQ(sight.alive()->since, kStart);
}

TEST(LeaseSightTest, AStoreThatCannotBeReadCountsAsAFreshRecord) {
  LeaseSight sight(seconds{15});
  sight.Unreadable(kStart);
  sight.Unreadable(kStart + seconds{10});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{25});
}

TEST(LeaseSightTest, AnAmThatSaysItDoesNotRuleDoesNotLookAlive) {
  LeaseSight sight(seconds{15});
  sight.Read(Renewal(1), kStart);
  sight.NotRuling(kStart + seconds{3});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{3});
  sight.Read(Renewal(1), kStart + seconds{4});
  EXPECT_EQ(sight.alive()->until, kStart + seconds{3}) << "the same record is no sign of life";
  sight.Read(Renewal(2), kStart + seconds{5});
  EXPECT_EQ(sight.alive()->since, kStart + seconds{5}) << "a renewed one is, from then on";
}

TEST(LeaseSightTest, WhoNeverLookedAliveDoesNotByNotRuling) {
  LeaseSight sight(seconds{15});
  sight.NotRuling(kStart);
  EXPECT_FALSE(sight.alive());
}

TEST(LeaseSightTest, AnAnswerCountsFromWhenItCame) {
  LeaseSight sight(seconds{15});
  sight.Heard(kStart, kStart + seconds{3});
  EXPECT_EQ(sight.alive()->since, kStart);
  EXPECT_EQ(sight.alive()->until, kStart + seconds{18});
}

}  // namespace
}  // namespace tony::executor
