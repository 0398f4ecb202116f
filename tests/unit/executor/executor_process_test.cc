// The executor with real processes: what it stops, nothing survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "tests/unit/executor/executor_bed.h"

namespace tony::executor {
namespace {

// All that a task started descends from this program; a zombie does not run.
bool IsRunning(pid_t pid) {
  const auto running = Descendants(getpid());
  return std::find(running.begin(), running.end(), pid) != running.end();
}

// A test's own processes are the only children of this program.
class ExecutorProcessTest : public testing::Test {
 protected:
  ExecutorProcessTest() { BecomeSubreaper(); }
  ~ExecutorProcessTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  // Runs `command` until it has made the file `ready` in its work folder.
  void Run(const std::string& command, int processes = 1, Background background = Background::kAuto) {
    bed_.emplace(command);
    bed_->spec.background = background;
    bed_->spec.roles[0].processes = processes;
    bed_->spec.timers.grace = Duration(300);  // where one process fails
    processes_.emplace(bed_->loop);
    child_signals_ = bed_->loop.OnSignals({SIGCHLD}, [this](int) { processes_->ReapStrangers(); });
    ASSERT_TRUE(bed_->Start(*processes_));
    ASSERT_TRUE(bed_->Until([&] { return std::filesystem::exists(bed_->InWork("ready")); }));
  }
  pid_t PidIn(const std::string& file) { return static_cast<pid_t>(*ParseInt(Trim(Content(bed_->InWork(file))))); }
  void Stop(Duration grace) {
    ASSERT_TRUE(bed_->Order({.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = grace}));
  }
  Outcome Reported() { return bed_->Reported().value_or(Outcome{}); }

  std::optional<ExecutorBed> bed_;
  std::optional<BoostProcessRunner> processes_;
  EventLoop::FdWatch child_signals_;
};

TEST_F(ExecutorProcessTest, ATasksProcessesAreChosenBeforeItsExecutorWhenMemoryRunsOut) {
  Run("(cat /proc/self/oom_score_adj > score); touch ready; exec sleep 1000");
  EXPECT_GT(ParseInt(Trim(Content(bed_->InWork("score")))), ParseInt(Trim(Content("/proc/self/oom_score_adj"))));
}

TEST_F(ExecutorProcessTest, FilesInSharedMemoryGoWithTheStoppedThatHadThemOpen) {
  const std::string file = StrCat("/dev/shm/tony-test-", getpid()), closed = file + "-closed";
  Run(StrCat("echo a > ", closed, "; exec 3> ", file, "; touch ready; exec sleep 1000"));
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(std::filesystem::remove(file));
  EXPECT_TRUE(std::filesystem::remove(closed));
}

TEST_F(ExecutorProcessTest, ATaskThatIgnoresTermIsKilledAfterTheGrace) {
  Run("trap '' TERM; echo $$ > pid; touch ready; while :; do sleep 0.02; done");
  const Instant asked = bed_->loop.Now();
  Stop(Duration{200});
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGKILL}));
  EXPECT_GE(bed_->loop.Now() - asked, Duration{200});
  EXPECT_FALSE(IsRunning(PidIn("pid")));
}

// The first of three ignores SIGTERM, the second fails, the third has a child in a session of its own.
TEST_F(ExecutorProcessTest, WhenAProcessFailsNothingOfTheOthersIsLeft) {
  Run("echo $$ > pid-$TONY_PROCESS_INDEX; case $TONY_PROCESS_INDEX in "
      "0) trap '' TERM; while :; do sleep 0.02; done;; "
      "1) until [ -e child -a -e pid-0 ]; do sleep 0.02; done; touch ready; until [ -e fail ]; do sleep 0.02; done; "
      "echo boom >&2; exit 3;; "
      "2) setsid sleep 1000 & echo $! > child.new; mv child.new child; wait;; esac",
      3);
  const auto pids = {PidIn("pid-0"), PidIn("pid-2"), PidIn("child")};
  ASSERT_TRUE(WriteNewFile(bed_->InWork("fail"), "", false).ok());
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(outcome.process, 1);
  EXPECT_EQ(outcome.stderr_tail, "boom\n");
  for (const pid_t pid : pids) EXPECT_FALSE(IsRunning(pid));
}

TEST_F(ExecutorProcessTest, ANoticeIsThereWhenTheSignalComes) {
  Run("test ! -e $TONY_NOTICE_FILE || exit 9; trap 'cat $TONY_NOTICE_FILE > seen; exit 5' TERM; touch ready; "
      "while :; do sleep 0.02; done");
  Command stop{.number = 2, .kind = Command::Kind::kStop, .generation = {1}, .grace = Duration{10'000}};
  stop.reason = "preempted";
  const Instant stopped = bed_->loop.Now();
  ASSERT_TRUE(bed_->Order(stop));
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 5}));
  const std::string seen = Content(bed_->InWork("seen"));
  constexpr std::string_view kBegin = R"({"reason":"preempted","deadline":")";
  ASSERT_THAT(seen, testing::StartsWith(kBegin));
  const auto deadline = InstantFromIso8601(seen.substr(kBegin.size(), seen.rfind('"') - kBegin.size()));
  ASSERT_TRUE(deadline) << seen;
  EXPECT_GE(*deadline, stopped + Duration{10'000});
  EXPECT_LE(*deadline, bed_->loop.Now() + Duration{10'000});
}

TEST_F(ExecutorProcessTest, ATaskThatEndsOnTermKeepsItsExitCode) {
  Run("trap 'exit 5' TERM; touch ready; while :; do sleep 0.02; done");
  Stop(Duration{10'000});
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kKilled);
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 5}));
}

TEST_F(ExecutorProcessTest, AProgramMaySaveWithToolsOfItsOwnThoughItsShellEndsOfTermAtOnce) {
  Run("sh -c 'trap \"sleep 0.3 && echo x > saved; exit\" TERM; touch ready; while :; do sleep 0.02; done'; echo after");
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kSignaled, SIGTERM}));
  EXPECT_EQ(Content(bed_->InWork("saved")), "x\n");
}

TEST_F(ExecutorProcessTest, AProcessThatFledIntoItsOwnSessionIsEnded) {
  Run("setsid bash -c 'echo $$ > fled; touch ready; sleep 1000' & wait");
  Stop(Duration{10'000});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(IsRunning(PidIn("fled")));
}

TEST_F(ExecutorProcessTest, ADaemonThatIgnoresTermIsKilledAfterItsParentIsGone) {
  Run("(setsid bash -c 'trap \"\" TERM; echo $$ > daemon; touch ready; while :; do sleep 0.02; done' &); sleep 1000");
  Stop(Duration{200});
  EXPECT_EQ(Reported().cls, OutcomeClass::kKilled);
  EXPECT_FALSE(IsRunning(PidIn("daemon")));
}

TEST_F(ExecutorProcessTest, WhatRunsOnInTheBackgroundEndsWithTheTask) {
  Run("sleep 1000 & echo $! > left; (setsid sleep 1000 &); touch ready; exit 0", 1, Background::kEnd);
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kSuccess);
  EXPECT_THAT(outcome.message, testing::HasSubstr("running in the background, and it was ended"));
  EXPECT_EQ(outcome.exit, (ExitStatus{ExitStatus::Kind::kExited, 0}));
  EXPECT_FALSE(IsRunning(PidIn("left")));
  EXPECT_THAT(Descendants(getpid()), testing::IsEmpty());
}

TEST_F(ExecutorProcessTest, OrphansAreReapedAndNeverTakeTheTasksExitStatus) {
  Run("for i in $(seq 30); do (true &); done; touch ready; exit 7");
  EXPECT_EQ(Reported().exit, (ExitStatus{ExitStatus::Kind::kExited, 7}));
  ASSERT_TRUE(bed_->Until([] {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  })) << "a zombie is left";
}

TEST_F(ExecutorProcessTest, AFailureBringsTheLastLinesOfStderr) {
  Run("echo first >&2; touch ready; echo boom >&2; exit 3");
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserError);
  EXPECT_EQ(outcome.stderr_tail, "first\nboom\n");
}

TEST_F(ExecutorProcessTest, ACommandThatIsNotThereIsTheUsersConfiguration) {
  Run("touch ready; no-such-program");
  const Outcome outcome = Reported();
  EXPECT_EQ(outcome.cls, OutcomeClass::kUserConfig);
  EXPECT_THAT(outcome.stderr_tail, testing::HasSubstr("no-such-program: command not found"));
}

}  // namespace
}  // namespace tony::executor
