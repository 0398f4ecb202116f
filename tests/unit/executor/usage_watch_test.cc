// With real processes and time.
#include "executor/usage_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using testing::HasSubstr;

class UsageWatchTest : public testing::Test {
 protected:
  UsageWatchTest() { BecomeSubreaper(); }
  ~UsageWatchTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  void Watch(const std::string& command, int64_t log_limit_mb) {
    const ProcessSpec spec{.argv = {"/bin/bash", "-c", command},
                           .env = {"PATH=/usr/bin:/bin"},
                           .directory = "/",
                           .stdout_file = (temp_.path() / "stdout").string(),
                           .stderr_file = (temp_.path() / "stderr").string()};
    ASSERT_TRUE(processes_.Start(spec, [this](ExitStatus) { ended_ = true; }).ok());
    watch_.emplace(loop_, WatchedAttempt{folder_, log_limit_mb, {}},
                   [this](const Usage& usage) { told_.push_back(usage); });
  }
  bool Until(const std::function<bool()>& condition) { return RunUntil(loop_, condition, std::chrono::seconds(60)); }
  std::string Kept() const { return Content(folder_ / "usage.json"); }

  TempFolder temp_;
  std::filesystem::path folder_ = temp_.path();
  EventLoop loop_;
  BoostProcessRunner processes_{loop_};
  std::optional<UsageWatch> watch_;
  std::vector<Usage> told_;
  bool ended_ = false;
};

TEST_F(UsageWatchTest, SamplesAreToldWhileItRunsAndAllOfItIsKeptAtTheEnd) {
  Watch("while :; do :; done", 0);
  ASSERT_TRUE(Until([&] { return told_.size() >= 2; }));
  EXPECT_GT(told_.back().cpu, Duration(0));
  EXPECT_GT(told_.back().memory_bytes, 0);
  SignalAll(Descendants(getpid()), SIGKILL);
  ASSERT_TRUE(Until([&] { return ended_; }));
  const Usage total = watch_->Total();
  EXPECT_GE(total.cpu, told_.back().cpu);
  EXPECT_GE(total.elapsed, told_.back().elapsed);
  EXPECT_EQ(watch_->Total().samples, total.samples) << "it may be asked again";
  watch_->Finish();
  EXPECT_THAT(Kept(), HasSubstr(R"({"schema":1,"usage":{"samples":)"));
  EXPECT_THAT(Kept(), HasSubstr(R"("points":[{"at_ms":)"));
}

TEST_F(UsageWatchTest, AnAttemptThatIsOverAtOnceLeavesNoFileButItsTime) {
  Watch("true", 0);
  ASSERT_TRUE(Until([&] { return ended_; }));
  const Usage total = watch_->Total();
  if (!told_.empty()) GTEST_SKIP() << "this machine is too slow to say";
  watch_->Finish();
  EXPECT_GT(total.elapsed, Duration(0));
  EXPECT_EQ(total.samples, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "usage.json"));
}

TEST_F(UsageWatchTest, AFolderThatTakesNoFileIsNoTrouble) {
  folder_ = "/proc/none";
  Watch("sleep 1000", 1);
  ASSERT_TRUE(Until([&] { return !told_.empty(); }));
  watch_->Finish();
}

TEST_F(UsageWatchTest, ALogThatGrowsFastStaysWithinItsLimit) {
  Watch("head -c 100000000 /dev/zero | tr '\\0' x; exec sleep 1000", 2);
  const auto room = [&] {
    struct stat info {};
    return stat((folder_ / "stdout").c_str(), &info) == 0 && info.st_size == 100'000'000 ? info.st_blocks * 512 : -1;
  };
  ASSERT_TRUE(Until([&] { return room() >= 0; }));
  if (!Until([&] { return room() <= 5 << 20; })) {
    EXPECT_FALSE(LogCap(folder_ / "stdout", 2 << 20).Check().ok()) << room();
    GTEST_SKIP() << "this file system frees no part of a file";
  }
}

TEST(UsageDocumentTest, ThePointsAreInTheOrderOfTime) {
  UsageSeries series;
  series.Add({Duration(1000), Duration(1000), 10, 20, 500});
  series.Add({Duration(2000), Duration(1000), 30, 30, 900});
  EXPECT_EQ(UsageDocument({.samples = 2}, series),
            R"({"schema":1,"usage":{"samples":2,"memory_bytes":0,"mean_memory_bytes":0,"most_memory_bytes":0,)"
            R"("cpu_ms":0,"millicores":0,"most_millicores":0,"elapsed_ms":0,"quiet_ms":0},"points":[)"
            R"({"at_ms":1000,"length_ms":1000,"mean_memory_bytes":10,"most_memory_bytes":20,"mean_millicores":500},)"
            R"({"at_ms":2000,"length_ms":1000,"mean_memory_bytes":30,"most_memory_bytes":30,"mean_millicores":900}]})");
}

}  // namespace
}  // namespace tony::executor
