#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

// Returns the members that are kept, and a line for each problem.
std::string Read(std::string_view text) {
  const auto outputs = ParseOutputs(text);
  if (!outputs.ok()) return "refused: " + outputs.error().message;
  std::string read = ObjectOf(*outputs);
  for (const OutputProblem& problem : outputs->problems) read += StrCat("\n", Describe(problem));
  return read;
}

TEST(OutputsParserTest, AValidObjectIsReturnedWithOnlyWhitespaceRemoved) {
  EXPECT_EQ(Read(" {\n \"a\" : [ 1, -2.50e+3, true ,null ], \"b\\u00e9\\n\": { } }\r\n"),
            R"({"a":[1,-2.50e+3,true,null],"b\u00e9\n":{}})");
  EXPECT_EQ(Read("{}"), "{}");
  EXPECT_EQ(Read(R"({"whole":123456789012345678901234567890,"small":1e-400,"text":"ä \ud83d\ude00 { "})"),
            R"({"whole":123456789012345678901234567890,"small":1e-400,"text":"ä \ud83d\ude00 { "})");
}

TEST(OutputsParserTest, NanAndInfinityAreConvertedToStringsAndReported) {
  EXPECT_EQ(Read("{\n\"loss\": NaN,\"model.path\":\"/m\"}"),
            "{\"loss\":\"NaN\",\"model.path\":\"/m\"}\n"
            "\"loss\" is passed on as text (line 2, offset 10: NaN is not a JSON number)");
  EXPECT_EQ(Read(R"({"a":[-Infinity,{"b":Infinity}]})"),
            "{\"a\":[\"-Infinity\",{\"b\":\"Infinity\"}]}\n"
            "\"a\" is passed on as text (line 1, offset 6: -Infinity is not a JSON number)");
  EXPECT_EQ(ParseOutputs(R"({"a":-Infinity})")->members[0].text, "-Infinity");
}

TEST(OutputsParserTest, OnlyTheInvalidMemberIsOmittedAndIsReportedByName) {
  const auto between = [](const std::string& bad) { return Read("{\"a\":1," + bad + ",\"z\":[]}"); };
  const std::string kept = "{\"a\":1,\"z\":[]}\n\"b\" is left out (line 1, offset ";
  EXPECT_EQ(between(R"("b":1e400)"), kept + "11: a number out of range)");
  EXPECT_EQ(between(R"("b":[1,{"c":-1e400}])"), kept + "19: a number out of range)");
  EXPECT_EQ(between(R"("b":{"c":1,"c":2})"), kept + "18: the name \"c\" occurs twice)");
  EXPECT_EQ(between("\"b\":\"\xff\xfe\""), kept + "12: not UTF-8)");
  EXPECT_EQ(between("\"b\":\"one\ntwo\""), kept + "15: a control character in a string)");
  EXPECT_EQ(between(R"("b":"\x")"), kept + "12: an unknown escape in a string)");
  EXPECT_EQ(between(R"("b":"\u12g4")"), kept + "12: expected \\u and four hexadecimal digits)");
  EXPECT_EQ(between(R"("b":"\ud800")"), kept + "12: the escape is only half of a surrogate pair)");
  EXPECT_EQ(between(R"("b":"\ud800\u0041")"), kept + "12: the escape is only half of a surrogate pair)");
  EXPECT_EQ(between(R"("b":"\udc00")"), kept + "12: the escape is only half of a surrogate pair)");
}

TEST(OutputsParserTest, AllMembersWithADuplicateNameAreOmitted) {
  EXPECT_EQ(Read("{\"a\":1,\"b\":NaN,\n \"b\":2,\"c\":3,\"\\u0062\":4}"),
            "{\"a\":1,\"c\":3}\n\"b\" is left out (line 2, offset 17: the name occurs twice)");
}

TEST(OutputsParserTest, MembersBeforeASyntaxErrorAreKept) {
  const std::string end = "; the text after this place is not read";
  EXPECT_EQ(Read("{\"a\":1,\"b\":tru"),
            "{\"a\":1}\n\"b\" is left out (line 1, offset 11: expected a value" + end + ")");
  EXPECT_EQ(Read("{\"a\":1,}"), "{\"a\":1}\nline 1, offset 7: expected a name in double quotes" + end);
  EXPECT_EQ(Read("{\"a\":1,\"b\":2 // two\n}"),
            "{\"a\":1}\n\"b\" is left out (line 1, offset 13: expected , or } after the member" + end + ")");
  EXPECT_EQ(Read("{\"a\":1,\"b\":25"),
            "{\"a\":1}\n\"b\" is left out (line 1, offset 13: expected , or } after the member" + end + ")")
      << "it may be 250";
  EXPECT_EQ(Read("{\"a\":1}\n{}"), "{\"a\":1}\nline 2, offset 8: text follows the JSON object" + end);
}

TEST(OutputsParserTest, TextThatIsNotAnObjectOrHasNoValidMemberIsRejected) {
  EXPECT_EQ(Read(""), "refused: line 1, offset 0: expected a JSON object");
  EXPECT_EQ(Read("[1]"), "refused: line 1, offset 0: expected a JSON object");
  EXPECT_EQ(Read("\xEF\xBB\xBF{}"), "refused: line 1, offset 0: expected a JSON object");
  EXPECT_EQ(Read(std::string_view("{}\0", 3)), "refused: line 1, offset 2: text follows the JSON object");
  for (const std::string_view text :
       {"{", "{\"a\"", "{\"a\":", "{a:1}", "{'a':1}", "{\"a\" 1}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}",
        "{\"a\":+1}", "{\"a\":1e}", "{\"a\":-}", "{\"a\":True}", "{\"a\":[1,]}", "{\"a\":[1}", "{\"a\":\"",
        "{\"a\":\"\\", "{\"a\":0x10}"}) {
    EXPECT_TRUE(Read(text).starts_with("refused: ")) << text << " " << Read(text);
  }
}

TEST(OutputsParserTest, ATruncatedObjectIsReportedWithoutReadingBeyondTheBuffer) {
  const std::string whole = R"({"a":[1,{"b":"\ud83d\ude00"},-1.5e3],"c":null,"d":false})";
  ASSERT_EQ(Read(whole), whole);
  for (size_t length = 0; length < whole.size(); ++length) {
    // The exact size lets the sanitizer detect reads beyond the end.
    const std::string part = whole.substr(0, length);
    EXPECT_NE(Read(part).find("line 1, offset "), std::string::npos) << part;
  }
}

TEST(OutputsParserTest, AMemberNestedDeeperThan100LevelsIsOmitted) {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + ",\"z\":1}";
  };
  EXPECT_EQ(Read(nested(100)), nested(100));
  EXPECT_EQ(Read(nested(101)), "{\"z\":1}\n\"a\" is left out (line 1, offset 105: nested deeper than 100 levels)");
  EXPECT_TRUE(Read("{\"a\":" + std::string(1 << 20, '[')).starts_with("refused: "));
}

TEST(OutputsParserTest, AtMost10000MembersAreKeptAndAtMost20ProblemsAreListed) {
  std::string many = "{\"x\":1";
  for (int i = 0; i < 30; ++i) many += StrCat(",\"b", i, "\":1e999");
  const auto outputs = ParseOutputs(many + "}");
  ASSERT_TRUE(outputs.ok());
  ASSERT_EQ(outputs->problems.size(), 21u);
  EXPECT_EQ(outputs->problems.back(), (OutputProblem{"", "and 10 more"}));

  many = "{\"x\":1";
  for (int i = 0; i < 10'000; ++i) many += StrCat(",\"", i, "\":1");
  const auto cut = ParseOutputs(many + "}");
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut->members.size(), 10'000u);
  EXPECT_NE(cut->problems.front().why.find("more than 10000 members"), std::string::npos);
}

TEST(OutputsParserTest, StringMembersAreDecodedAndOtherValuesKeepTheirJsonText) {
  const auto outputs = ParseOutputs(R"({"a":"x\n\u00e9","n":12345678901234567890,"o":{"a":[1]},"z":null,"t":true})");
  ASSERT_TRUE(outputs.ok());
  const auto& members = outputs->members;
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[0].text, "x\n\xC3\xA9");
  EXPECT_EQ(members[1].text, "12345678901234567890");
  EXPECT_EQ(members[2].text, R"({"a":[1]})");
  EXPECT_EQ(members[3].text, std::nullopt);
  EXPECT_EQ(members[4].text, "true");
}

}  // namespace
}  // namespace tony
