// Tests with real daemons that are hard to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/support/places.h"
#include "tests/support/rough_daemon.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OwnTreeTest : public testing::Test {
 protected:
  OwnTreeTest() { BecomeSubreaper(); }
  ~OwnTreeTest() override { EXPECT_TRUE(End()); }

  // Starts the daemon through a program that exits once the daemon lives.
  void StartDaemon(const std::string& kind) {
    bool ended = false;
    const auto started =
        runner_.Start(Spec({TestProgram("rough_daemon"), kind, lock_.string()}), [&](ExitStatus status) {
          EXPECT_TRUE(status.Succeeded()) << kind;
          ended = true;
        });
    ASSERT_TRUE(started.ok()) << started.error().message;
    ASSERT_TRUE(RunUntil(loop_, [&] { return ended; }));
    ASSERT_TRUE(DaemonLives(lock_));
  }
  pid_t StartShell(const std::string& command) {
    const auto started = runner_.Start(Spec({"/bin/sh", "-c", command}), [](ExitStatus) {});
    EXPECT_TRUE(started.ok());
    EXPECT_TRUE(RunUntil(loop_, [&] { return std::filesystem::exists(folder_.path() / "ready"); }));
    return started.ok() ? *started : 0;
  }
  ProcessSpec Spec(const std::vector<std::string>& argv) const {
    return {argv, {"PATH=/usr/bin:/bin", mark_}, folder_.path().string(), "", ""};
  }
  pid_t PidIn(const std::string& name) const {
    std::ifstream file(folder_.path() / name);
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  bool End() {
    return RunUntil(loop_, [this] {
      if (!runner_.ReapAllChildren()) KillDescendants();
      return runner_.ReapAllChildren();
    });
  }

  TempFolder folder_;
  const std::filesystem::path lock_ = folder_.path() / "lock";
  const std::string mark_ = "TONY_TEST_MARK=" + folder_.path().string();
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
};

class RoughTreeTest : public OwnTreeTest, public testing::WithParamInterface<std::string> {};

TEST_P(RoughTreeTest, AProcessTreeIsReportedAsEndedOnlyWhenItsDaemonIsDead) {
  StartDaemon(GetParam());
  for (int i = 0; i < 100; ++i) {
    const bool gone = runner_.ReapAllChildren();
    EXPECT_FALSE(gone && DaemonLives(lock_));
  }
  ASSERT_TRUE(End());
  EXPECT_FALSE(DaemonLives(lock_));
}

INSTANTIATE_TEST_SUITE_P(Kinds, RoughTreeTest, testing::ValuesIn(RoughKinds()),
                         [](const auto& test) { return RoughName(test.param); });

TEST_F(OwnTreeTest, TenDaemonsThatReforkConstantlyAreAllKilled) {
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(std::filesystem::remove(lock_) || i == 0);
    StartDaemon("refork");
  }
  ASSERT_TRUE(End());
  EXPECT_THAT(ProcessesWithEnvironment(mark_), IsEmpty());
}

TEST_F(OwnTreeTest, AProcessWithoutChildrenSignalsNoProcess) {
  EXPECT_TRUE(runner_.ReapAllChildren());
  EXPECT_THAT(SignalDescendants(SIGKILL).living, IsEmpty());
}

TEST_F(OwnTreeTest, AZombieChildIsNotListedAsLiving) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(SignalDescendants(0).living, IsEmpty());
  EXPECT_TRUE(runner_.ReapAllChildren());
}

TEST_F(OwnTreeTest, ASignalReachesAllGenerationsOfDescendants) {
  StartShell(
      "trap 'echo x >term1' TERM; sh -c 'trap \"echo x >term2\" TERM; setsid sh -c \"trap \\\"echo x >term3\\\" "
      "TERM; >ready; while :; do sleep 0.01; done\" & while :; do sleep 0.01; done' & while :; do sleep 0.01; "
      "done");
  const TreeWalk met = SignalDescendants(SIGTERM);
  EXPECT_GE(met.living.size(), 3u);
  for (const char* name : {"term1", "term2", "term3"})
    EXPECT_TRUE(RunUntil(loop_, [&] { return std::filesystem::exists(folder_.path() / name); })) << name;
}

// The shell ends at once on the signal, and the program that it runs does not.
TEST_F(OwnTreeTest, ASignalReachesAProgramEvenIfTheSignalKillsItsShellFirst) {
  for (int i = 0; i < 20; ++i) {
    std::filesystem::remove(folder_.path() / "ready");
    std::filesystem::remove(folder_.path() / "term");
    StartShell("sh -c 'trap \"echo x >term; exit\" TERM; >ready; while :; do sleep 0.01; done'; echo after");
    SignalDescendants(SIGTERM);
    EXPECT_TRUE(RunUntil(loop_, [&] { return std::filesystem::exists(folder_.path() / "term"); })) << i;
    ASSERT_TRUE(End());
  }
}

TEST_F(OwnTreeTest, KillingDescendantsSparesAnExcludedProcessAndItsDescendants) {
  const pid_t spared = StartShell("sleep 1000 & echo $! >below; >ready; wait");
  std::filesystem::remove(folder_.path() / "ready");
  const pid_t meant = StartShell(">ready; exec sleep 1000");
  const TreeWalk met = KillDescendants([&](pid_t pid) { return pid == spared; });
  ASSERT_TRUE(RunUntil(loop_, [&] {
    const auto stat = ReadStat(meant);
    return !stat || stat->dead;
  }));
  EXPECT_THAT(Descendants(getpid()), testing::UnorderedElementsAre(spared, PidIn("below")));
  EXPECT_EQ(met.living.count(spared), 0u);
}

TEST_F(OwnTreeTest, SignalledProcessesAreDescribedByTheirCountAndAnExamplePid) {
  EXPECT_EQ((TreeWalk{{7}, 0}).Describe(), "1 process, e.g. process 7");
  EXPECT_EQ((TreeWalk{{7, 8}, 2}).Describe(), "2 processes, e.g. process 7");
}

// Returns the newest process number: the last field of /proc/loadavg (proc(5)). Numbers are given in ascending order,
// and start again after the greatest.
pid_t NewestNumber() {
  std::ifstream file("/proc/loadavg");
  std::string field;
  pid_t newest = 0;
  for (int i = 0; i < 4; ++i) file >> field;
  file >> newest;
  return newest;
}

// Each process of the daemon lives for 3 ms, and a listing takes longer if there are many processes. A process that is
// forked when the numbers start again may get a number that the listing has already passed. Tests that run at the same
// time use up the numbers within a second.
TEST_F(OwnTreeTest, ADaemonThatReforksConstantlyIsInEveryProcessList) {
  StartDaemon("refork");
  int looks = 0, missed = 0;
  for (int i = 0; i < 1000 && looks < 100; ++i) {
    const pid_t newest = NewestNumber();
    const bool found = !ProcessesWithEnvironment(mark_).empty();
    if (NewestNumber() < newest) continue;
    ++looks;
    missed += !found;
    // A listing also reads ended processes, so they are reaped here to keep it short.
    (void)runner_.ReapAllChildren();
  }
  EXPECT_EQ(looks, 100);
  EXPECT_EQ(missed, 0);
}

TEST_F(OwnTreeTest, ASignalDoesNotReachANewProcessWithAReusedPid) {
  const pid_t pid = StartShell(">ready; exec sleep 1000");
  ProcessEntry before{pid, getpid(), "", "12345"};
  SignalIfUnchanged({before}, {pid}, SIGKILL);
  SignalIfUnchanged({}, {pid}, SIGKILL);
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it lives";
  before.start_time = StartTime(pid);
  SignalIfUnchanged({before}, {pid}, SIGKILL);
  EXPECT_TRUE(RunUntil(loop_, [&] { return ReadStat(pid).value_or(ProcessStat{.dead = true}).dead; }));
}

}  // namespace
}  // namespace tony
