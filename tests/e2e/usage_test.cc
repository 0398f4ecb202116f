// The resources that tasks use, and the size of their logs, as a person sees them.
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class UsageE2eTest : public TonyTest {
 protected:
  fs::path LogFile(const std::string& name) const { return box_.JobFolder(Job()) / "logs/worker-0/1" / name; }
};

TEST_F(UsageE2eTest, MemoryAndCpuUsageOfATaskAreShownWhileItRunsAndAfterItsEnd) {
  constexpr int64_t kHeld = 60'000'000;
  const auto client = Hold(One("x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo $$ > " + Running("worker-0") +
                               "; until [ -e " + box_.File("go") + " ]; do :; done"));
  json::value status;
  ASSERT_TRUE(WaitFor([&] {
    status = Json({"status", Job()});
    return Number(status, "/tasks/0/usage/memory_bytes") >= kHeld && Number(status, "/tasks/0/usage/cpu_ms") > 0;
  })) << client->err();
  GoAndEnd(*client);

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

TEST_F(UsageE2eTest, TheUsageOfAVeryShortTaskIncludesProcessorTimeAndPeakMemory) {
  Succeeds(One("true"));
  const auto status = Json({"status", Job()});
  EXPECT_GT(Number(status, "/tasks/0/usage/most_memory_bytes"), 0);
  EXPECT_GE(Number(status, "/tasks/0/usage/cpu_ms"), 0);
}

TEST_F(UsageE2eTest, ALogBeyondItsLimitKeepsItsBeginningAndItsEnd) {
  Succeeds(One("echo the beginning; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo the end",
               {"tony.task.log-limit=4m"}));
  struct stat info {};
  ASSERT_EQ(stat(LogFile("stdout").c_str(), &info), 0);
  EXPECT_GT(info.st_size, 30'000'000) << "offsets stay valid";
  if (ReadText(LogFile("executor.log")).find("tony.task.log-limit has no effect") != std::string::npos)
    GTEST_SKIP() << "this file system frees no part of a file";
  EXPECT_LE(info.st_blocks * 512, 7 << 20);
  const Ran logs = box_.Tony({"logs", Job()});
  EXPECT_THAT(logs.out, HasAll({"the beginning", "the end"}));
  EXPECT_LT(logs.out.size(), 8u << 20);
  EXPECT_EQ(logs.out.find('\0'), std::string::npos);
}

}  // namespace
}  // namespace tony
