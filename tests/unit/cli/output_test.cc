#include "runtime/cli/output.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"

namespace tony {
namespace {

TEST(OutputTest, InvalidUtf8IsReplacedInJson) {
  EXPECT_EQ(JsonString("caf\xC3\xA9 \"x\"\n"), "\"caf\xC3\xA9 \\\"x\\\"\\n\"");
  EXPECT_EQ(JsonString("\xFF"
                       "a\xC3"),
            "\"\xEF\xBF\xBD"
            "a\xEF\xBF\xBD\"");
  EXPECT_EQ(JsonString("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "overlong";
  EXPECT_EQ(JsonString("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate";
  EXPECT_EQ(JsonString("\xF0\x9F\x98\x80"), "\"\xF0\x9F\x98\x80\"");
}

TEST(OutputTest, FieldsAreAppendedToTheEndOfAJsonObject) {
  EXPECT_EQ(WithFields(R"({"a":1})", {{"b", "true"}, {"c", "\"x\""}}), R"({"a":1,"b":true,"c":"x"})");
  EXPECT_EQ(WithFields("{}", {{"b", "2"}}), R"({"b":2})");
}

TEST(OutputTest, DurationsArePrintedInSecondsMinutesHoursOrDays) {
  EXPECT_EQ(HumanDuration(Duration(432)), "0.4 s");
  EXPECT_EQ(HumanDuration(Duration(200'000)), "3 min 20 s");
  EXPECT_EQ(HumanDuration(Duration(7'500'000)), "2 h 5 min");
  EXPECT_EQ(HumanDuration(Duration(273'600'000)), "3 d 4 h");
  EXPECT_EQ(HumanDuration(Duration(-5)), "0.0 s");
}

}  // namespace
}  // namespace tony
