#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/support/no_more_files.h"
#include "tests/support/run_until.h"

namespace tony {
namespace {

class HeldProcessTest : public testing::Test {
 protected:
  HeldProcessTest() { BecomeSubreaper(); }
  ~HeldProcessTest() override {
    EXPECT_TRUE(RunUntil(loop_, [this] {
      KillDescendants();
      return runner_.ReapAllChildren();
    }));
  }
  // Starts a process that is not our child. Its parent never reaps it, like a shell that waits for another child.
  static pid_t StartGrandchild() {
    int pipe[2];
    EXPECT_EQ(pipe2(pipe, O_CLOEXEC), 0);
    if (fork() == 0) {
      const pid_t grandchild = fork();
      if (grandchild > 0) (void)!write(pipe[1], &grandchild, sizeof grandchild);
      for (;;) pause();
    }
    pid_t pid = 0;
    EXPECT_EQ(read(pipe[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    for (const int end : pipe) close(end);
    return pid;
  }

  EventLoop loop_;
  BoostProcessRunner runner_{loop_};
};

TEST_F(HeldProcessTest, TheExitOfAProcessWithAPidfdIsReportedBeforeTheProcessIsReaped) {
  const HeldProcess held(StartGrandchild());
  ASSERT_TRUE(held.valid());
  int ends = 0;
  EventLoop::FdWatch watch;
  watch = held.WhenEnded(loop_, [&] {
    ++ends;
    watch.reset();
  });
  EXPECT_TRUE(held.Signal(SIGKILL));
  EXPECT_TRUE(RunUntil(loop_, [&] { return ends > 0; }));
  EXPECT_TRUE(held.Signal(0)) << "it is a zombie";
  EXPECT_EQ(ends, 1);
}

TEST_F(HeldProcessTest, AShortageOfDescriptorsIsNotReportedAsTheExitOfTheProcess) {
  const HeldProcess held(StartGrandchild());
  ASSERT_TRUE(held.valid());
  (void)loop_.After(Duration(0), [] {});  // opens the loop's own files
  const NoMoreFiles shortage;
  bool ended = false;
  const auto watch = held.WhenEnded(loop_, [&] { ended = true; });
  EXPECT_FALSE(RunUntil(
      loop_, [&] { return ended; }, 5 * kCheckInterval));
  EXPECT_TRUE(held.Signal(SIGKILL)) << "a signal needs no descriptor either";
  EXPECT_TRUE(RunUntil(loop_, [&] { return ended; }));
}

TEST_F(HeldProcessTest, OpeningAPidfdOfAProcessFailsWithEmfileIfNoDescriptorIsFree) {
  const NoMoreFiles shortage;
  errno = 0;
  const HeldProcess held(getppid());
  EXPECT_EQ(errno, EMFILE);
  EXPECT_FALSE(held.valid());
}

TEST_F(HeldProcessTest, OpeningAPidfdOfAReapedProcessFailsWithEsrch) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  errno = 0;
  const HeldProcess held(pid);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_FALSE(held.valid());
  EXPECT_FALSE(held.Signal(0));
}

TEST_F(HeldProcessTest, SignallingThroughAPidfdFailsWithEsrchAfterTheProcessIsReaped) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  const HeldProcess held(pid);
  ASSERT_TRUE(held.valid());
  EXPECT_TRUE(held.Signal(0));
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  errno = 0;
  EXPECT_FALSE(held.Signal(0));
  EXPECT_EQ(errno, ESRCH);
  bool ended = false;
  const auto watch = held.WhenEnded(loop_, [&] { ended = true; });
  EXPECT_TRUE(RunUntil(loop_, [&] { return ended; }));
}

}  // namespace
}  // namespace tony
