#include <gtest/gtest.h>

#include "tests/unit/job/parse_properties.h"

namespace tony {
namespace {

TEST(TimerParserTest, TheDefaultsAreThoseOfTimers) {
  EXPECT_EQ(ParseWith({})->spec.timers, Timers());
  EXPECT_EQ(ParseWith({})->spec.registration_timeout, JobSpec().registration_timeout);
  EXPECT_EQ(ParseWith({})->spec.timeout, JobSpec().timeout);
}

TEST(TimerParserTest, EveryTimerHasItsKey) {
  const auto parsed = ParseWith({{"tony.task.heartbeat-interval-ms", "11"},
                                 {"tony.task.suspect-after-ms", "12"},
                                 {"tony.task.cutoff-after-ms", "1032"},
                                 {"tony.task.stop-grace-ms", "14"},
                                 {"tony.task.lost-after-ms", "6047"},
                                 {"tony.task.record-fresh-ms", "10"},
                                 {"tony.am.lease-ms", "16"},
                                 {"tony.task.orphan-timeout-ms", "17"},
                                 {"tony.application.timeout", "18"},
                                 {"tony.container.registration.timeout", "19"}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Timers expected = {Duration(11),   Duration(12), Duration(1032), Duration(14),
                           Duration(6047), Duration(10), Duration(16),   Duration(17)};
  EXPECT_EQ(parsed->spec.timers, expected);
  EXPECT_EQ(parsed->spec.timeout, Duration(18));
  EXPECT_EQ(parsed->spec.registration_timeout, Duration(19));
}

TEST(TimerParserTest, SuspicionComesAfterFiveHeartbeats) {
  EXPECT_EQ(ParseWith({{"tony.task.heartbeat-interval-ms", "2000"}})->spec.timers.suspect_after, Duration(10000));
}

TEST(TimerParserTest, MissedHeartbeatsAreTonysWordForLost) {
  const auto lost = [](const Settings& settings) { return ParseWith(settings)->spec.timers.lost_after; };
  EXPECT_EQ(lost({{"tony.task.max-missed-heartbeats", "100"}}), Duration(100'000));
  EXPECT_EQ(lost({{"tony.task.max-missed-heartbeats", "1"}, {"tony.task.heartbeat-interval-ms", "20000"}}),
            Duration(60'000));
}

TEST(TimerParserTest, OurOwnKeyForLostGoesBeforeTonys) {
  const Settings both = {{"tony.task.max-missed-heartbeats", "100"}, {"tony.task.lost-after-ms", "70000"}};
  EXPECT_EQ(ParseWith(both)->spec.timers.lost_after, Duration(70'000));
  EXPECT_EQ(WarningsWith(both),
            "tony.task.max-missed-heartbeats: \"100\" (from -conf): no effect, as tony.task.lost-after-ms is set\n");
}

TEST(TimerParserTest, ASuccessorMayNotStartBeforeTheLostTaskIsDead) {
  EXPECT_EQ(ErrorWith({{"tony.task.lost-after-ms", "45000"}}),
            "tony.task.cutoff-after-ms (30000) + tony.task.stop-grace-ms (10000) + 5000 must be less than "
            "tony.task.lost-after-ms (45000): a lost task must have stopped before it is started again");
  EXPECT_EQ(ErrorWith({{"tony.task.lost-after-ms", "45001"}}), "accepted");
}

TEST(TimerParserTest, TonysMissedHeartbeatsAreRaisedToWhatIsSafe) {
  const Settings tonys_default = {{"tony.task.max-missed-heartbeats", "25"}};
  EXPECT_EQ(ParseWith(tonys_default)->spec.timers.lost_after, Duration(45'001));
  EXPECT_EQ(WarningsWith(tonys_default),
            "tony.task.max-missed-heartbeats: \"25\" (from -conf): taken as 45001 ms: a lost task has had "
            "tony.task.cutoff-after-ms (30000) + tony.task.stop-grace-ms (10000) to stop\n");
  const Settings just_safe = {{"tony.task.max-missed-heartbeats", "11"}, {"tony.task.heartbeat-interval-ms", "4091"}};
  EXPECT_EQ(ParseWith(just_safe)->spec.timers.lost_after, Duration(45'001));
  EXPECT_EQ(WarningsWith(just_safe), "");
}

TEST(TimerParserTest, TheDeathOfAnAmIsToldFromBeingCutOff) {
  EXPECT_EQ(ErrorWith({{"tony.task.cutoff-after-ms", "21999"}}),
            "tony.task.cutoff-after-ms (21999) must be at least 22000: tony.task.heartbeat-interval-ms (1000) + "
            "tony.task.record-fresh-ms (15000) + 6000: a dead application master must be told from a lost connection");
  EXPECT_EQ(ErrorWith({{"tony.task.cutoff-after-ms", "22000"}}), "accepted");
}

TEST(TimerParserTest, ALateHeartbeatIsNoDeath) {
  const Settings slow = {{"tony.task.heartbeat-interval-ms", "20001"}, {"tony.task.lost-after-ms", "60000"}};
  EXPECT_EQ(ErrorWith(slow),
            "tony.task.lost-after-ms (60000) must be at least three times tony.task.heartbeat-interval-ms (20001)");
}

TEST(TimerParserTest, DefaultsMakeRoomForASlowHeartbeat) {
  const Timers timers = ParseWith({{"tony.task.heartbeat-interval-ms", "30000"}})->spec.timers;
  EXPECT_EQ(timers.cutoff_after, Duration(51'000));
  EXPECT_EQ(timers.lost_after, Duration(90'000));
  EXPECT_EQ(ParseWith({{"tony.task.stop-grace-ms", "40000"}})->spec.timers.lost_after, Duration(75'001));
}

TEST(TimerParserTest, BadDurationsAreNamed) {
  for (const auto& [key, least] : Settings{{"tony.task.heartbeat-interval-ms", "10"},
                                           {"tony.task.suspect-after-ms", "1"},
                                           {"tony.task.cutoff-after-ms", "1"},
                                           {"tony.task.stop-grace-ms", "0"},
                                           {"tony.task.lost-after-ms", "1"},
                                           {"tony.task.record-fresh-ms", "1"},
                                           {"tony.am.lease-ms", "1"},
                                           {"tony.task.orphan-timeout-ms", "1"},
                                           {"tony.application.timeout", "0"},
                                           {"tony.container.registration.timeout", "-1"}}) {
    for (const std::string value : {"10 weeks", "-2", "1.5", "1.5m", "m", "999999999999999", "9999999d"}) {
      EXPECT_EQ(ErrorWith({{key, value}}), key + ": \"" + value +
                                               "\" (from -conf): expected a whole number of milliseconds from " +
                                               least + " to 315360000000, or one with a unit, as 30s, 10m, 2h");
    }
  }
  EXPECT_EQ(ErrorWith({{"tony.task.max-missed-heartbeats", "-1"}}),
            "tony.task.max-missed-heartbeats: \"-1\" (from -conf): expected a whole number from 0 to 1000000");
}

TEST(TimerParserTest, ATimeMayHaveAUnitAndABareNumberIsInTheUnitOfItsKey) {
  using std::chrono::seconds;
  const std::pair<const char*, Duration> kTimes[] = {{"90000", seconds(90)}, {"250ms", Duration(250)},
                                                     {"90s", seconds(90)},   {" 10 m ", seconds(600)},
                                                     {"2h", seconds(7200)},  {"1d", seconds(86'400)}};
  for (const auto& [text, length] : kTimes)
    EXPECT_EQ(ParseWith({{"tony.application.timeout", text}})->spec.timeout, length) << text;
  EXPECT_EQ(ParseWith({{"tony.azkaban.watch-timeout", "90"}})->watch_timeout, seconds(90));
  EXPECT_EQ(ParseWith({{"tony.azkaban.watch-timeout", "10m"}})->watch_timeout, seconds(600));
}

TEST(TimerParserTest, ARegistrationTimeoutThatIsOffIsYearsAway) {
  for (const auto* off : {"0", "-1"}) {
    EXPECT_GT(ParseWith({{"tony.container.registration.timeout", off}})->spec.registration_timeout,
              std::chrono::years(9));
  }
}

}  // namespace
}  // namespace tony
