#include "runtime/records/kill_answers.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_folder.h"

namespace tony {
namespace {

class KillAnswersTest : public ::testing::Test {
 protected:
  KillAnswersTest() { EXPECT_TRUE(records_.WriteConditionalKill("k", {.reason = "late", .if_owner = {"o1"}}).ok()); }

  TempFolder temp_;
  const JobRecords records_ = LocalJobRecords(temp_.path());
};

TEST_F(KillAnswersTest, AreReadAsTheyWereWrittenUntilTheyAreTaken) {
  for (const FiledAnswer& word :
       {FiledAnswer{KillAnswer::kTaken, ""}, FiledAnswer{KillAnswer::kPlanned, ""},
        FiledAnswer{KillAnswer::kFenced, ""}, FiledAnswer{std::nullopt, "claim.json: none"}}) {
    ASSERT_TRUE(WriteFiledAnswer(records_, "k", word).ok());
    const auto read = ReadFiledAnswer(records_, "k");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, word);
  }
  RemoveFiledAnswer(records_, "k");
  EXPECT_EQ(*ReadFiledAnswer(records_, "k"), std::nullopt);
}

TEST_F(KillAnswersTest, AreNoRequests) {
  ASSERT_TRUE(WriteFiledAnswer(records_, "k", {KillAnswer::kFenced, ""}).ok());
  ASSERT_TRUE(records_.RemoveConditionalKill("k").ok());
  EXPECT_TRUE(records_.ReadConditionalKills()->empty());
}

TEST_F(KillAnswersTest, ThatAreDamagedAreNamed) {
  for (const char* text : {"", "{", R"({"schema":1,"answer":"yes","why":""})", R"({"schema":1,"answer":"taken"})"}) {
    std::ofstream(temp_.path() / "kill-requests/k.answer") << text;
    EXPECT_FALSE(ReadFiledAnswer(records_, "k").ok()) << text;
  }
}

}  // namespace
}  // namespace tony
