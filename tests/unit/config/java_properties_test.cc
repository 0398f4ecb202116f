#include <gtest/gtest.h>

#include "runtime/config/properties.h"

namespace tony {
namespace {

std::string PropertiesError(std::string_view text) {
  const auto parsed = ParseJavaProperties(text, "job.properties");
  if (parsed.ok()) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
  return parsed.error().message;
}

// All pairs as "key=value|key=value".
std::string Pairs(std::string_view text) {
  const auto parsed = ParseJavaProperties(text, "job.properties");
  if (!parsed.ok()) return parsed.error().message;
  std::string out;
  for (const auto& [key, property] : parsed->all()) {
    if (!out.empty()) out += '|';
    out += key + "=" + property.value;
  }
  return out;
}

TEST(JavaPropertiesTest, KeysEndAtTheFirstBlankEqualsOrColon) {
  EXPECT_EQ(Pairs("a=1\nb:2\nc 3\nd = 4\ne\t:\t5\nf\f6"), "a=1|b=2|c=3|d=4|e=5|f=6");
  EXPECT_EQ(Pairs("a==1\nb= =2\nc:=3\nd  x = y"), "a==1|b==2|c==3|d=x = y");
  EXPECT_EQ(Pairs("alone\nempty=\n=value"), "=value|alone=|empty=");
}

TEST(JavaPropertiesTest, BlankLinesAndCommentsAreSkipped) {
  EXPECT_EQ(Pairs("# c\n ! c\n\n \t\f\na=1 # not a comment\n#x=\\\nb=2"), "a=1 # not a comment|b=2");
}

TEST(JavaPropertiesTest, LeadingBlanksGoAndTrailingOnesStay) { EXPECT_EQ(Pairs("  a = 1 \t\n"), "a=1 \t"); }

TEST(JavaPropertiesTest, AllLineEndsCount) { EXPECT_EQ(Pairs("a=1\r\nb=2\rc=3\nd=4"), "a=1|b=2|c=3|d=4"); }

TEST(JavaPropertiesTest, AnOddBackslashAtTheEndContinuesTheLine) {
  EXPECT_EQ(Pairs("a=1,\\\n   2,\\\r\n\t3\nb=4"), "a=1,2,3|b=4");
  EXPECT_EQ(Pairs("a=1\\\\\nb=2"), "a=1\\|b=2");
  EXPECT_EQ(Pairs("a=1\\\\\\\nb=2"), "a=1\\b=2");
  EXPECT_EQ(Pairs("a=1\\\n# no comment here\nb=2"), "a=1# no comment here|b=2");
  EXPECT_EQ(Pairs("a=1\\\n\nb=2"), "a=1|b=2");
  EXPECT_EQ(Pairs("a=1\\"), "a=1");
}

TEST(JavaPropertiesTest, EscapesAreUndoneInKeysAndValues) {
  EXPECT_EQ(Pairs("a\\ b\\=c\\:d=\\t\\n\\r\\f\\x\\\\\\#"), "a b=c:d=\t\n\r\fx\\#");
  EXPECT_EQ(Pairs("\\#a=1"), "#a=1");
}

TEST(JavaPropertiesTest, UnicodeEscapesIncludeSurrogatePairs) {
  EXPECT_EQ(Pairs("a=\\u0041\\u20ac\\u20AC"), "a=A\xE2\x82\xAC\xE2\x82\xAC");
  EXPECT_EQ(Pairs("a=\\uD83D\\uDE00!"), "a=\xF0\x9F\x98\x80!");
  EXPECT_EQ(Pairs("\\u006b=\xC3\xA4"), "k=\xC3\xA4");
}

TEST(JavaPropertiesTest, BadUnicodeEscapesAreErrorsWithTheirLine) {
  constexpr std::string_view kMalformed = ": malformed \\u escape: expected four hexadecimal digits";
  EXPECT_EQ(PropertiesError("a=1\nb=\\u12"), "job.properties:2" + std::string(kMalformed));
  EXPECT_EQ(PropertiesError("b=\\u12G4"), "job.properties:1" + std::string(kMalformed));
  EXPECT_EQ(PropertiesError("# c\n\\u=1"), "job.properties:2" + std::string(kMalformed));
  EXPECT_EQ(PropertiesError("a=\\uD83D"), "job.properties:1: half of a surrogate pair in \\u escapes");
  EXPECT_EQ(PropertiesError("a=\\uDE00"), "job.properties:1: half of a surrogate pair in \\u escapes");
  EXPECT_EQ(PropertiesError("a=\\uD83Dx"), "job.properties:1: half of a surrogate pair in \\u escapes");
  EXPECT_EQ(PropertiesError("a=\\uD83D\\u0041"), "job.properties:1: half of a surrogate pair in \\u escapes");
}

TEST(JavaPropertiesTest, NulAndBytesThatAreNotUtf8AreErrorsWithTheirLine) {
  EXPECT_EQ(PropertiesError(std::string_view("a=1\nb=\0", 7)), "job.properties:2: a NUL character");
  EXPECT_EQ(PropertiesError("a=1\n\nb=\xE9t\xE9"), "job.properties:3: not valid UTF-8");
  EXPECT_EQ(PropertiesError("a=\\u0000"), "job.properties:1: a NUL character");
}

TEST(JavaPropertiesTest, AValueKnowsTheLineOnWhichItsEntryBegins) {
  const auto parsed = ParseJavaProperties("# c\na=1\\\n 2\n\nb=3\nb=4", "job.properties");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->Find("a")->origin, "job.properties:2");
  EXPECT_EQ(parsed->Find("b")->origin, "job.properties:6");
  EXPECT_EQ(parsed->Find("b")->value, "4");
}

TEST(JavaPropertiesTest, AnEditorsByteOrderMarkIsNoPartOfTheFirstKey) {
  EXPECT_EQ(Pairs("\xEF\xBB\xBF"
                  "a=1"),
            "a=1");
}

TEST(JavaPropertiesTest, AnEmptyTextHasNoProperties) { EXPECT_EQ(Pairs(""), ""); }

// All pairs and origins of what Azkaban hands to a step, as "key=value@origin|...".
std::string StepPairs(std::string_view text) {
  const auto parsed = ParseStepProperties(text, "the step");
  if (!parsed.ok()) return parsed.error().message;
  std::string out;
  for (const auto& [key, property] : parsed->all()) {
    out += (out.empty() ? "" : "|") + key + "=" + property.value + "@" + property.origin;
  }
  return out;
}

TEST(StepPropertiesTest, AnOriginIsTheNameAlone) {
  EXPECT_EQ(StepPairs("#Sat Nov 21 22:00:00 UTC 2026\nb=2\na\\ x=\\u00E4\\\n  b\n"),
            "a x=\xC3\xA4"
            "b@the step|b=2@the step");
}

TEST(StepPropertiesTest, WhatIsNotUtf8IsLatin1) {
  EXPECT_EQ(StepPairs("a=\xE4\xFF"), "a=\xC3\xA4\xC3\xBF@the step");
  EXPECT_EQ(StepPairs("a=\xC3\xA4"), "a=\xC3\xA4@the step") << "UTF-8 stays as it is";
  EXPECT_EQ(StepPairs("a=\xC3\xA4\nb=\xE4"), "a=\xC3\xA4@the step|b=\xC3\xA4@the step") << "one encoding a file";
  EXPECT_EQ(PropertiesError("a=\xE4"), "job.properties:1: not valid UTF-8") << "people's own files are UTF-8";
}

TEST(StepPropertiesTest, Utf8ThatAzkabanReadAsLatin1IsUtf8Again) {
  const auto parsed = ParseStepProperties(
      "city=Z\\u00C3\\u00BCrich\nsum=5 \\u00E2\\u0082\\u00AC\ntable=\\u5730\\u7406\nlatin=\\u00FC\\u00C4\n",
      "the step");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->Find("city")->value, "Zürich");
  EXPECT_EQ(parsed->Find("sum")->value, "5 €");
  EXPECT_EQ(parsed->Find("table")->value, "地理") << "a flow parameter, which Azkaban had right";
  EXPECT_EQ(parsed->Find("latin")->value, "üÄ");
  ASSERT_EQ(parsed->warnings().size(), 1u);
  EXPECT_EQ(parsed->warnings()[0].substr(0, 64), "city, sum: UTF-8 that Azkaban read as ISO-8859-1; read as UTF-8.");
}

TEST(StepPropertiesTest, AnErrorNamesTheKeyAndNotTheValue) {
  EXPECT_EQ(StepPairs("a=1\nmy\\ key=hunter2\\u12"),
            "the step: key my\\ key: malformed \\u escape: expected four hexadecimal digits");
  EXPECT_EQ(StepPairs("a\\u0000=1"), "the step: key a\\u0000: a NUL character");
  EXPECT_EQ(StepPairs(std::string_view("a=\0", 3)), "the step: a NUL character");
  EXPECT_EQ(StepPairs(std::string(100, 'k') + "=\\uD800"),
            "the step: key " + std::string(60, 'k') + ": half of a surrogate pair in \\u escapes");
}

}  // namespace
}  // namespace tony
