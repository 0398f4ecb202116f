// Tests with real processes. This program is a subreaper, and its only children are those of the running test.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "executor/usage_watch.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/support/run_until.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

using testing::HasSubstr;

constexpr int64_t kMegabyte = 1 << 20;

void Use(int64_t bytes) {
  void* room = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) _exit(3);
  std::memset(room, 1, static_cast<size_t>(bytes));
}

Duration OwnCpu() { return Duration(clock() / (CLOCKS_PER_SEC / 1000)); }

void Spin(Duration cpu) {
  const Duration until = OwnCpu() + cpu;
  while (OwnCpu() < until) {
  }
}

class UsageSamplerTest : public testing::Test {
 protected:
  UsageSamplerTest() {
    BecomeSubreaper();
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    ready_read_.Reset(ends[0]);
    ready_write_.Reset(ends[1]);
  }
  ~UsageSamplerTest() override {
    for (auto tree = Descendants(getpid()); !tree.empty(); tree = Descendants(getpid())) SignalAll(tree, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  pid_t Start(const std::function<void()>& work) {
    const pid_t pid = fork();
    if (pid == 0) {
      work();
      _exit(0);
    }
    return pid;
  }
  void Ready() const {  // called in a child
    if (write(ready_write_.get(), "r", 1) != 1) _exit(4);
  }
  [[noreturn]] void ReadyAndStay() const {
    Ready();
    while (true) pause();
  }
  void AwaitReady(int children = 1) const {
    for (char byte; children > 0; --children) ASSERT_EQ(read(ready_read_.get(), &byte, 1), 1);
  }
  int ready_fd() const { return ready_write_.get(); }

 private:
  UniqueFd ready_read_, ready_write_;
};

TEST_F(UsageSamplerTest, TheUsageSampleOfATreeWithoutProcessesIsZero) {
  const TreeSample sample = UsageSampler().Sample();
  EXPECT_EQ(sample.processes, 0);
  EXPECT_EQ(sample.memory_bytes, 0);
  EXPECT_EQ(sample.cpu, Duration(0));
  EXPECT_EQ(sample.peak_ended_bytes, 0);
}

TEST_F(UsageSamplerTest, AProcessThatUses100MegabytesAddsAtLeast100MegabytesToTheSample) {
  const UsageSampler sampler;
  Start([this] { ReadyAndStay(); });
  AwaitReady();
  const int64_t before = sampler.Sample().memory_bytes;
  Start([this] {
    Use(100 * kMegabyte);
    ReadyAndStay();
  });
  AwaitReady();
  const TreeSample sample = sampler.Sample();
  EXPECT_EQ(sample.processes, 2);
  EXPECT_GE(sample.memory_bytes, before + 100 * kMegabyte);
  // ThreadSanitizer keeps four bytes of its own for each byte.
  if (!kThreadSanitized) EXPECT_LE(sample.memory_bytes, 2 * before + 140 * kMegabyte) << "and not twice";
}

TEST_F(UsageSamplerTest, MemorySharedByTwoProcessesIsCountedOnce) {
  const UsageSampler sampler;
  constexpr size_t kShared = 64 * kMegabyte;
  void* room = mmap(nullptr, kShared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  const auto touch = [&] {
    std::memset(room, 1, kShared);
    ReadyAndStay();
  };
  Start(touch);
  AwaitReady();
  const int64_t one = sampler.Sample().memory_bytes;
  Start(touch);
  AwaitReady();
  EXPECT_GE(one, static_cast<int64_t>(kShared));
  EXPECT_LT(sampler.Sample().memory_bytes, 2 * one - 32 * kMegabyte);
  munmap(room, kShared);
}

TEST_F(UsageSamplerTest, CpuTimeOfARunningChildIsMeasured) {
  const UsageSampler sampler;
  Start([this] {
    Spin(Duration(300));
    ReadyAndStay();
  });
  AwaitReady();
  const Duration cpu = sampler.Sample().cpu;
  EXPECT_GE(cpu, Duration(280));
  EXPECT_LE(cpu, Duration(2000));
}

TEST_F(UsageSamplerTest, CpuTimeAndPeakMemoryOfAProcessThatEndsBetweenSamplesAreCounted) {
  const UsageSampler sampler;
  Start([] {
    // No other test here uses this much, because the kernel keeps one figure, that of the largest child.
    Use(150 * kMegabyte);
    Spin(Duration(200));
  });
  ASSERT_GT(wait(nullptr), 0);
  const TreeSample sample = sampler.Sample();
  EXPECT_EQ(sample.processes, 0);
  EXPECT_GE(sample.cpu, Duration(180));
  EXPECT_GE(sample.peak_ended_bytes, 150 * kMegabyte);
}

TEST_F(UsageSamplerTest, CpuTimeOfChildrenReapedByALivingProcessIsCounted) {
  const UsageSampler sampler;
  Start([this] {
    Start([] { Spin(Duration(200)); });
    wait(nullptr);
    ReadyAndStay();
  });
  AwaitReady();
  EXPECT_GE(sampler.Sample().cpu, Duration(180));
}

TEST_F(UsageSamplerTest, CpuTimeOfAZombieIsCountedAndStaysTheSameWhenTheZombieIsReaped) {
  const UsageSampler sampler;
  const pid_t pid = Start([] { Spin(Duration(200)); });
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  const Duration as_zombie = sampler.Sample().cpu;
  ASSERT_GT(wait(nullptr), 0);
  const Duration reaped = sampler.Sample().cpu;
  EXPECT_GE(as_zombie, Duration(180));
  EXPECT_LE(std::chrono::abs(reaped - as_zombie), Duration(30));
}

TEST_F(UsageSamplerTest, ProcessesThatEndedBeforeTheSamplerWasCreatedAreNotCounted) {
  Start([] {
    Use(80 * kMegabyte);
    Spin(Duration(150));
  });
  ASSERT_GT(wait(nullptr), 0);
  const TreeSample sample = UsageSampler().Sample();
  EXPECT_EQ(sample.cpu, Duration(0));
  EXPECT_EQ(sample.peak_ended_bytes, 0);
}

TEST_F(UsageSamplerTest, AnOrphanedProcessInASessionOfItsOwnIsCounted) {
  const UsageSampler sampler;
  Start([this] {
    Start([this] {
      setsid();
      Use(60 * kMegabyte);
      ReadyAndStay();
    });
  });
  AwaitReady();
  ASSERT_GT(wait(nullptr), 0);
  const TreeSample sample = sampler.Sample();
  EXPECT_EQ(sample.processes, 1);
  EXPECT_GE(sample.memory_bytes, 60 * kMegabyte);
}

TEST_F(UsageSamplerTest, ChildrenStartedByAThreadOtherThanTheMainThreadAreCounted) {
  const UsageSampler sampler;
  Start([this] {
    std::thread([this] {
      Start([this] { ReadyAndStay(); });
      while (true) pause();
    }).join();
  });
  AwaitReady();
  EXPECT_EQ(sampler.Sample().processes, 2);
}

TEST_F(UsageSamplerTest, ATreeOf1000ProcessesIsSampledWithin5Seconds) {
  const UsageSampler sampler;
  const int out = ready_fd();
  Start([out] {
    dup2(out, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i+1)); done; echo; wait", nullptr);
  });
  AwaitReady();
  const auto begin = std::chrono::steady_clock::now();
  const TreeSample sample = sampler.Sample();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(sample.processes, 1001);
  EXPECT_LT(took, std::chrono::seconds(5));
  RecordProperty("microseconds", static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
}

// ---- real processes and real time

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

TEST_F(UsageWatchTest, UsageSamplesAreReportedDuringTheRunAndWrittenToUsageJsonAtTheEnd) {
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

TEST_F(UsageWatchTest, AnAttemptThatEndsBeforeItsFirstSampleHasNoUsageJson) {
  Watch("true", 0);
  ASSERT_TRUE(Until([&] { return ended_; }));
  const Usage total = watch_->Total();
  if (!told_.empty()) GTEST_SKIP() << "this machine is too slow to say";
  watch_->Finish();
  EXPECT_GT(total.elapsed, Duration(0));
  EXPECT_EQ(total.samples, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "usage.json"));
}

TEST_F(UsageWatchTest, UsageIsStillReportedIfTheLogFolderCannotBeWritten) {
  folder_ = "/proc/none";
  Watch("sleep 1000", 1);
  ASSERT_TRUE(Until([&] { return !told_.empty(); }));
  watch_->Finish();
}

TEST_F(UsageWatchTest, AFastGrowingLogWithALimitOf2MbOccupiesAtMost5Mb) {
  Watch("head -c 100000000 /dev/zero | tr '\\0' x; exec sleep 1000", 2);
  const auto room = [&] {
    struct stat info {};
    return stat((folder_ / "stdout").c_str(), &info) == 0 && info.st_size == 100'000'000 ? info.st_blocks * 512 : -1;
  };
  ASSERT_TRUE(Until([&] { return room() >= 0; }));
  if (!Until([&] { return room() <= 5 << 20; })) {
    EXPECT_FALSE(LogSizeLimit(folder_ / "stdout", 2 << 20).Check().ok()) << room();
    GTEST_SKIP() << "this file system frees no part of a file";
  }
}

TEST(UsageDocumentTest, PointsInUsageJsonAreInOrderOfTime) {
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
