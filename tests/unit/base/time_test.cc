#include "runtime/base/time.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

TEST(TimeTest, Iso8601TextIsInUtcWithMilliseconds) {
  EXPECT_EQ(ToIso8601(FromMillis(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(ToIso8601(FromMillis(1795253415123)), "2026-11-21T09:30:15.123Z");
  EXPECT_EQ(ToIso8601(FromMillis(951782400005)), "2000-02-29T00:00:00.005Z");
}

TEST(TimeTest, Iso8601TextHasAFourDigitYearForEveryInstant) {
  EXPECT_EQ(ToIso8601(FromMillis(-1)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(ToIso8601(FromMillis(-31083523200000)), "0985-01-01T00:00:00.000Z");
  EXPECT_EQ(ToIso8601(FromMillis(253402300799999)), "9999-12-31T23:59:59.999Z");
  // Instants beyond years of four digits become the nearest instant within them.
  EXPECT_EQ(ToIso8601(FromMillis(253402300800000)), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(ToIso8601(Instant::max()), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(ToIso8601(Instant::min()), "0000-01-01T00:00:00.000Z");
}

TEST(TimeTest, ToMillisInvertsFromMillis) { EXPECT_EQ(ToMillis(FromMillis(1795253415123)), 1795253415123); }

TEST(TimeTest, TheRealClockIsWithin10SecondsOfTheSystemClockAndNeverGoesBack) {
  const RealClock clock;
  const auto system = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  EXPECT_LT(std::chrono::abs(clock.Now() - system), std::chrono::seconds(10));
  Instant last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const Instant now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace tony
