#include "runtime/os/process_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/boost_process_runner.h"
#include "tests/support/places.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(VariableInTest, AnEnvironmentVariableIsFoundOnlyByItsWholeName) {
  const std::string environment("AB=1\0B=\0C=x=y\0", 14);
  EXPECT_EQ(VariableIn(environment, "AB"), "1");
  EXPECT_EQ(VariableIn(environment, "B"), "");
  EXPECT_EQ(VariableIn(environment, "C"), "x=y");
  EXPECT_EQ(VariableIn(environment, "A"), "");
  EXPECT_EQ(VariableIn("", "A"), "");
  EXPECT_EQ(VariableIn(std::string("\0\0A=1", 5), "A"), "1");
  EXPECT_EQ(VariableIn("A=not ended", "A"), "not ended");
}

TEST(DescendantsInTest, DescendantsAreFoundEvenIfTheParentLinksFormACycle) {
  const std::vector<ProcessEntry> processes = {{2, 1}, {3, 2}, {4, 3}, {5, 1}, {1, 4}};
  EXPECT_THAT(DescendantsIn(processes, 2), ::testing::UnorderedElementsAre(3, 4, 1, 5));
  EXPECT_THAT(DescendantsIn(processes, 5), IsEmpty());
}

class ProcessTreeTest : public ::testing::Test {
 protected:
  ProcessTreeTest() { BecomeSubreaper(); }
  ~ProcessTreeTest() override {
    RunUntil(loop_, [this] {
      SignalAll(Descendants(getpid()), SIGKILL);
      runner_.ReapAllChildren();
      return Descendants(getpid()).empty();
    });
  }
  // Runs a shell command with the mark, and returns once the command has made the file "ready".
  pid_t StartMarked(const std::string& command) {
    ProcessSpec spec{{"/bin/sh", "-c", command}, {"PATH=/usr/bin:/bin", mark_}, folder_.path().string(), "", ""};
    const auto pid = runner_.Start(spec, [](ExitStatus) {});
    EXPECT_TRUE(pid.ok());
    EXPECT_TRUE(RunUntil(loop_, [&] { return std::filesystem::exists(folder_.path() / "ready"); }));
    return pid.ok() ? *pid : 0;
  }

  TempFolder folder_;
  const std::string mark_ = "TONY_TEST_MARK=" + folder_.path().string();
  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
};

TEST_F(ProcessTreeTest, ProcessesInTheirOwnSessionAreFoundByTheirEnvironmentMarkAndKilled) {
  StartMarked("setsid sleep 1000 & setsid sh -c '>ready; exec sleep 1000' & exec sleep 1000");
  EXPECT_THAT(ProcessesWithEnvironment(mark_), SizeIs(3));
  SignalAll(ProcessesWithEnvironment(mark_), SIGKILL);
  EXPECT_TRUE(RunUntil(loop_, [&] { return ProcessesWithEnvironment(mark_).empty(); }));
}

TEST_F(ProcessTreeTest, ADoubleForkedDaemonWithTheEnvironmentMarkIsReparentedToThisProcess) {
  StartMarked("(setsid sh -c '(>ready; exec sleep 1000) &' &) ; exit 0");
  ASSERT_TRUE(RunUntil(loop_, [&] { return ProcessesWithEnvironment(mark_).size() == 1; }));
  const pid_t daemon = ProcessesWithEnvironment(mark_)[0];
  EXPECT_TRUE(RunUntil(loop_, [&] {
    for (const auto& process : ListProcesses())
      if (process.pid == daemon) return process.parent == getpid();
    return false;
  }));
  EXPECT_THAT(Descendants(getpid()), Contains(daemon));
}

TEST_F(ProcessTreeTest, ADaemonThatClearsItsEnvironmentIsFoundByDescent) {
  StartMarked("setsid env -i sh -c '>ready; exec sleep 1000' & exec sleep 1000");
  EXPECT_THAT(ProcessesWithEnvironment(mark_), SizeIs(1));
  EXPECT_THAT(Descendants(getpid()), SizeIs(2));
}

// The kernel shows no environment of a process in the middle of execve(2).
TEST_F(ProcessTreeTest, AProcessThatCallsExecInALoopIsAlwaysFoundByItsEnvironmentMark) {
  const pid_t pid = StartMarked("echo 'exec /bin/sh again' >again; >ready; exec /bin/sh again");
  for (int look = 0; look < 30000; ++look) ASSERT_TRUE(HasEnvironmentSetting(pid, mark_)) << look;
}

TEST(ParseStatTest, AnIncompleteProcStatLineIsRefused) {
  EXPECT_FALSE(ParseStat(""));
  EXPECT_FALSE(ParseStat("7 (sh) S 1 7 7 0 -1"));
}

TEST_F(ProcessTreeTest, AZombieIsNotListedAmongTheDescendants) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
  EXPECT_THAT(Descendants(getpid()), Not(Contains(pid)));
  EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
}

TEST_F(ProcessTreeTest, AProcessWhoseMainThreadHasExitedIsListedAsLivingWhileAnotherThreadRuns) {
  StartMarked(StrCat(TestProgram("rough_daemon"), " headless ", (folder_.path() / "lock").string(),
                     " && >ready; exec sleep 1000"));
  const auto is_headless = [](pid_t pid) { return ReadStat(pid).value_or(ProcessStat{}).state == 'Z'; };
  EXPECT_TRUE(RunUntil(loop_, [&] { return std::ranges::count_if(Descendants(getpid()), is_headless) == 1; }));
}

TEST_F(ProcessTreeTest, ChildrenOfThisProcessIncludeStartedProcessesAndReparentedOrphans) {
  const pid_t started = StartMarked("(sleep 1000 & echo $! >daemon); >ready; exec sleep 1000");
  std::ifstream file(folder_.path() / "daemon");
  pid_t daemon = 0;
  file >> daemon;
  ASSERT_TRUE(OwnChildren()) << "this kernel does not tell";
  EXPECT_TRUE(RunUntil(loop_, [&] {
    const auto children = *OwnChildren();
    return std::ranges::count(children, started) == 1 && std::ranges::count(children, daemon) == 1;
  }));
}

TEST_F(ProcessTreeTest, TheStartTimeIsConstantForALivingProcessAndEmptyForAReapedProcess) {
  const std::string mine = StartTime(getpid());
  EXPECT_FALSE(mine.empty());
  EXPECT_EQ(StartTime(getpid()), mine);
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(StartTime(pid), "");
}

TEST_F(ProcessTreeTest, AProcessWithANameLikeAProcStatLineIsParsedCorrectly) {
  const pid_t pid = StartMarked("cp /bin/sleep './) R 1 1 (' && >ready && exec './) R 1 1 (' 1000");
  EXPECT_TRUE(RunUntil(loop_, [&] {
    for (const auto& process : ListProcesses())
      if (process.pid == pid) return process.parent == getpid();
    return false;
  }));
}

}  // namespace
}  // namespace tony
