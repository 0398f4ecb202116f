#include "runtime/client/outputs_json.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

std::string Compact(std::string_view text) {
  const auto compact = CompactOutputs(text);
  return compact.ok() ? *compact : "refused: " + compact.error().message;
}

TEST(OutputsJsonTest, AnObjectLosesItsBlanksAndNothingElse) {
  EXPECT_EQ(Compact(" {\n \"a\" : [ 1, -2.50e+3, true ,null ], \"b\\u00e9\\n\": { } }\r\n"),
            R"({"a":[1,-2.50e+3,true,null],"b\u00e9\n":{}})");
  EXPECT_EQ(Compact("{}"), "{}");
  EXPECT_EQ(Compact(R"({"whole":123456789012345678901234567890,"small":1e-400,"text":"ä \ud83d\ude00 { "})"),
            R"({"whole":123456789012345678901234567890,"small":1e-400,"text":"ä \ud83d\ude00 { "})");
}

TEST(OutputsJsonTest, WhatIsWrongIsNamedWithItsPlace) {
  EXPECT_EQ(Compact("{\n\"loss\": NaN}"), "refused: line 2, offset 10: NaN is no JSON value");
  EXPECT_EQ(Compact("{\"a\":-Infinity}"), "refused: line 1, offset 5: -Infinity is no JSON value");
  EXPECT_EQ(Compact("{\"a\":1,\n \"a\":2}"), "refused: line 2, offset 9: the name \"a\" is there twice");
  EXPECT_EQ(Compact("{\"a\":1,\"\\u0061\":2}"), "refused: line 1, offset 7: the name \"a\" is there twice");
  EXPECT_EQ(Compact("{\"a\":\"\xff\"}"), "refused: line 1, offset 6: not UTF-8");
  EXPECT_EQ(Compact("{\"a\":1e999}"), "refused: line 1, offset 5: a number out of range");
}

TEST(OutputsJsonTest, OnlyOneObjectPasses) {
  EXPECT_EQ(Compact(""), "refused: line 1, offset 0: no JSON object begins here");
  EXPECT_EQ(Compact("[1]"), "refused: line 1, offset 0: no JSON object begins here");
  EXPECT_EQ(Compact("\xEF\xBB\xBF{}"), "refused: line 1, offset 0: no JSON object begins here");
  EXPECT_EQ(Compact("{}\n{}"), "refused: line 2, offset 3: something follows the JSON object");
  EXPECT_EQ(Compact(std::string_view("{}\0", 3)), "refused: line 1, offset 2: something follows the JSON object");
}

TEST(OutputsJsonTest, BrokenJsonDoesNotPass) {
  for (const std::string_view text : {"{",
                                      "{\"a\"",
                                      "{\"a\":",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{'a':1}",
                                      "{\"a\" 1}",
                                      "{\"a\":01}",
                                      "{\"a\":1.}",
                                      "{\"a\":.5}",
                                      "{\"a\":+1}",
                                      "{\"a\":1e}",
                                      "{\"a\":-}",
                                      "{\"a\":tru}",
                                      "{\"a\":True}",
                                      "{\"a\":[1,]}",
                                      "{\"a\":[1}",
                                      "{\"a\":\"",
                                      "{\"a\":\"\\",
                                      "{\"a\":\"\\x\"}",
                                      "{\"a\":\"\\u12\"}",
                                      "{\"a\":\"\\u12g4\"}",
                                      "{\"a\":\"\\ud800\"}",
                                      "{\"a\":\"\\ud800\\u0041\"}",
                                      "{\"a\":\"\\udc00\"}",
                                      "{\"a\":\"\n\"}",
                                      "{\"a\":1 // one\n}",
                                      "{\"a\":0x10}"}) {
    EXPECT_TRUE(Compact(text).starts_with("refused: ")) << text;
  }
}

TEST(OutputsJsonTest, EveryBeginningOfAnObjectIsRefusedAndNoneIsReadBeyond) {
  const std::string whole = R"({"a":[1,{"b":"\ud83d\ude00"},-1.5e3],"c":null,"d":false})";
  ASSERT_EQ(Compact(whole), whole);
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string part = whole.substr(0, length);  // of its own size, for the sanitizer
    EXPECT_TRUE(Compact(part).starts_with("refused: ")) << part;
  }
}

TEST(OutputsJsonTest, ItNestsAHundredDeepAndNoDeeper) {
  const auto nested = [](int depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  EXPECT_EQ(Compact(nested(100)), nested(100));
  EXPECT_EQ(Compact(nested(101)), "refused: line 1, offset 105: nested deeper than 100");
  EXPECT_TRUE(Compact("{\"a\":" + std::string(1 << 20, '[')).starts_with("refused: "));
}

TEST(OutputsJsonTest, PeopleSeeOneMemberALine) {
  EXPECT_EQ(IndentedOutputs(R"({"a":[1,{}],"b":{"c":"x,{\"}"},"d":[]})"),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": \"x,{\\\"}\"\n  },\n  \"d\": []\n}");
  EXPECT_EQ(IndentedOutputs("{}"), "{}");
}

TEST(OutputsJsonTest, AnObjectsOwnMembersAreStringsAsTheyReadOrJson) {
  const auto members = OutputMembers(R"({"a":"x\n\u00e9","n":12345678901234567890,"o":{"a":[1]},"z":null,"t":true})");
  ASSERT_EQ(members.size(), 5u);
  EXPECT_EQ(members[0].name, "a");
  EXPECT_EQ(members[0].text, "x\n\xC3\xA9");
  EXPECT_EQ(members[1].text, "12345678901234567890");
  EXPECT_EQ(members[2].text, R"({"a":[1]})");
  EXPECT_EQ(members[3].text, std::nullopt);
  EXPECT_EQ(members[4].text, "true");
  EXPECT_TRUE(OutputMembers("{}").empty());
}

}  // namespace
}  // namespace tony
