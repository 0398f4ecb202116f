// What tasks use, and the room that their logs take, as a person sees it.
#include <sys/stat.h>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;

class UsageE2eTest : public TonyTest {
 protected:
  boost::json::value Json(const Words& arguments) {
    const Ran ran = box_.Tony(arguments + Words{"--json"});
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ParseJson(ran.out);
  }
  std::filesystem::path LogFile(const std::string& name) const {
    return box_.JobFolder(Job()) / "logs/worker-0/1" / name;
  }
};

TEST_F(UsageE2eTest, WhatATaskUsesIsShownWhileItRunsAndKeptWhenItHasEnded) {
  constexpr int64_t kHeld = 60'000'000;
  const auto client = box_.StartTony(One("x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo $$ > " +
                                         Running("worker-0") + "; until [ -e " + box_.File("go") + " ]; do :; done"));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  boost::json::value status;
  ASSERT_TRUE(WaitFor([&] {
    status = Json({"status", Job()});
    return Number(status, "/tasks/0/usage/memory_bytes") >= kHeld && Number(status, "/tasks/0/usage/cpu_ms") > 0;
  })) << client->err();
  Go();
  ASSERT_EQ(client->Wait().exit, 0) << client->err();

  status = Json({"status", Job()});
  EXPECT_GE(Number(status, "/tasks/0/usage/most_memory_bytes"), kHeld);
  EXPECT_GT(Number(status, "/tasks/0/usage/mean_memory_bytes"), 0);
  const auto history = Json({"history", Job()});
  EXPECT_EQ(At(history, "/attempts/0/outcome/usage"), At(status, "/tasks/0/usage"));
  const auto kept = ParseJson(ReadText(LogFile("usage.json")));
  EXPECT_GE(Number(kept, "/usage/most_memory_bytes"), kHeld);
  EXPECT_TRUE(At(kept, "/points/0/mean_memory_bytes").is_number());
  EXPECT_THAT(box_.Tony({"history", Job()}).out, testing::ContainsRegex("worker:0#1 .*[0-9] MB .*[0-9]%"));
  ExpectNothingLeft();
}

TEST_F(UsageE2eTest, ATaskThatIsOverAtOnceHasItsTimeAndItsPeak) {
  ASSERT_EQ(box_.Tony(One("true")).exit, 0);
  const auto status = Json({"status", Job()});
  EXPECT_GT(Number(status, "/tasks/0/usage/most_memory_bytes"), 0);
  EXPECT_GE(Number(status, "/tasks/0/usage/cpu_ms"), 0);
}

TEST_F(UsageE2eTest, ALogBeyondItsLimitKeepsItsBeginningAndItsEnd) {
  const Ran ran = box_.Tony(One("echo the beginning; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end") +
                            Conf("tony.task.log-limit=4m"));
  ASSERT_EQ(ran.exit, 0) << ran.err;
  struct stat info {};
  ASSERT_EQ(stat(LogFile("stdout").c_str(), &info), 0);
  EXPECT_GT(info.st_size, 30'000'000) << "offsets stay valid";
  if (ReadText(LogFile("executor.log")).find("tony.task.log-limit has no effect") != std::string::npos)
    GTEST_SKIP() << "this file system frees no part of a file";
  EXPECT_LE(info.st_blocks * 512, 7 << 20);
  const Ran logs = box_.Tony({"logs", Job()});
  EXPECT_THAT(logs.out, HasSubstr("the beginning"));
  EXPECT_THAT(logs.out, HasSubstr("the end"));
  EXPECT_LT(logs.out.size(), 8u << 20);
  EXPECT_EQ(logs.out.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace tony
