#include "am/yarn_supervisor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony::am {
namespace {

using Next = DeathRule::Next;

ExitStatus Exited(int code) { return {ExitStatus::Kind::kExited, code}; }
constexpr ExitStatus kKilled{ExitStatus::Kind::kSignaled, SIGKILL};

std::string TextOf(const Next& next) {
  if (!next.start_after) return StrCat("leave ", next.exit_code);
  return StrCat("start after ", next.start_after->count(),
                next.end_job.empty() ? "" : " to end the job: ", next.end_job);
}

TEST(DeathRuleTest, TheJobEndsIfTheMasterDiesFiveTimesBeforeItBecomesLeader) {
  DeathRule rule;
  for (const char* after : {"100", "200", "400", "800"})
    EXPECT_EQ(TextOf(rule.Ended(kKilled, /*led=*/false, "", false)), StrCat("start after ", after));
  EXPECT_EQ(TextOf(rule.Ended(kKilled, false, "", false)),
            "start after 0 to end the job: the application master died 5 times before it could lead the job; the last "
            "cause: signal 9 (SIGKILL)");
  EXPECT_EQ(TextOf(rule.Ended(Exited(70), false, "", /*ended_job=*/true)), "leave 70");
}

TEST(DeathRuleTest, AMasterThatDiesAfterBecomingLeaderIsAlwaysRestarted) {
  DeathRule rule;
  for (int i = 0; i < 4; ++i) (void)rule.Ended(kKilled, false, "", false);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(TextOf(rule.Ended(kKilled, /*led=*/true, "", false)), "start after 0");
  EXPECT_EQ(TextOf(rule.Ended(kKilled, false, "", false)), "start after 100");
}

TEST(DeathRuleTest, AMasterThatExitsWithCodeUnavailableIsAlwaysRestartedAfter5Seconds) {
  DeathRule rule;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(TextOf(rule.Ended(Exited(static_cast<int>(ErrorCode::kUnavailable)), false, "HDFS is away", false)),
              "start after 5000");
}

TEST(DeathRuleTest, AFinalExitCodeOfTheMasterBecomesTheExitCodeOfTheContainer) {
  for (const int code : {0, 65, 66, 77, kAttemptIsOver, kFailedCheck})
    for (const bool led : {false, true})
      EXPECT_EQ(TextOf(DeathRule().Ended(Exited(code), led, "", false)), StrCat("leave ", code));
}

TEST(DeathRuleTest, TheReasonForEndingTheJobNamesTheMastersLastError) {
  DeathRule rule;
  for (int i = 0; i < 4; ++i) (void)rule.Ended(Exited(70), false, "x", false);
  EXPECT_TRUE(rule.Ended(Exited(70), false, "files.json: no such record", false)
                  .end_job.ends_with("the last cause: files.json: no such record"));
}

// Runs a supervisor whose AM processes call `body`, and returns how the supervisor ended. A process exits with the code
// that `body` returns.
int RunSupervisor(const std::function<int(SupervisedProcess&)>& body, Duration silence = SupervisedProcess::kSilence) {
  const pid_t pid = fork();
  if (pid == 0) {
    auto process = Supervise(silence);
    _exit(process.ok() ? body(*process) : 99);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(SupervisorTest, ADeadMasterProcessIsReplacedByAProcessWithTheNextNumber) {
  EXPECT_EQ(RunSupervisor([](SupervisedProcess& process) {
              process.ShowLife();
              process.ReportLeader();
              if (process.number() < 20) raise(SIGKILL);
              return process.number() == 20 && process.end_job().empty() ? 0 : 98;
            }),
            0);
}

TEST(SupervisorTest, TheMasterProcessThatEndsTheJobReceivesTheLastErrorOfEarlierProcesses) {
  EXPECT_EQ(RunSupervisor([](SupervisedProcess& process) {
              process.ReportError("Expected. L and . are letters");
              if (process.number() <= DeathRule::kMostInARow) return 70;
              return process.end_job().ends_with("the last cause: Expected. L and . are letters") ? 65 : 98;
            }),
            65);
}

TEST(SupervisorTest, AHungMasterProcessIsReplaced) {
  EXPECT_EQ(RunSupervisor(
                [](SupervisedProcess& process) {
                  if (process.number() == 2) return 0;
                  process.ShowLife();
                  pause();
                  return 98;
                },
                Duration(100)),
            0);
}

TEST(SupervisorTest, TheMasterProcessDiesWithItsSupervisor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(RunSupervisor([&](SupervisedProcess&) {
              kill(getppid(), SIGKILL);
              pause();
              return 98;
            }),
            128 + SIGKILL);
  // The pipe's end closes when the last process that has it is dead.
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace tony::am
