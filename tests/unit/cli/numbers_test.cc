#include <gmock/gmock.h>

#include "runtime/cli/options.h"

namespace tony {
namespace {

using testing::HasSubstr;

const Instant kNow = FromMillis(1'795'253'415'123);

Result<std::optional<Instant>> Since(const std::string& text) {
  const VerbSpec verb = {"history", "", 0, 0, "", {{"since", OptionSpec::Kind::kValue, "TIME", ""}}};
  const auto line = CommandLine::Parse(verb, {"--since", text});
  EXPECT_TRUE(line.ok());
  return TimeOption(*line, "since", kNow);
}

TEST(TimeOptionTest, ATimeOptionAcceptsAgesAndIsoTimesOfAnyPrecision) {
  EXPECT_EQ(**Since("30m"), kNow - std::chrono::minutes(30));
  EXPECT_EQ(**Since("2d"), kNow - std::chrono::hours(48));
  EXPECT_EQ(ToIso8601(**Since("2026-11-21")), "2026-11-21T00:00:00.000Z");
  EXPECT_EQ(ToIso8601(**Since("2026-11-21T09:30")), "2026-11-21T09:30:00.000Z");
  EXPECT_EQ(ToIso8601(**Since("2026-11-21T09:30Z")), "2026-11-21T09:30:00.000Z");
  EXPECT_EQ(ToIso8601(**Since("2026-11-21T09:30:15Z")), "2026-11-21T09:30:15.000Z");
  EXPECT_EQ(ToIso8601(**Since("2026-11-21T09:30:15.123Z")), "2026-11-21T09:30:15.123Z");
}

TEST(TimeOptionTest, TheErrorForAnInvalidTimeNamesTheOptionAndTheValue) {
  for (const char* text : {"", "d", "-1d", "3w", "yesterday", "2026-11-31", "2026-11-21 09:30", "2026", "Z"}) {
    const auto time = Since(text);
    ASSERT_FALSE(time.ok()) << text;
    EXPECT_EQ(time.error().code, ErrorCode::kUsage);
    EXPECT_THAT(time.error().message, HasSubstr("--since \"" + std::string(text) + "\""));
  }
}

}  // namespace
}  // namespace tony
