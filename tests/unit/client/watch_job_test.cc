// The end of a client by signals, also while its loop is blocked.
#include "runtime/client/watch_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "runtime/base/strings.h"

namespace tony {
namespace {

using ::testing::HasSubstr;

class FakeArbiter : public Arbiter {
 public:
  ArbiterView Look(const JobRecords&) const override { return {}; }
  Result<std::optional<JobStatus>> UnwrittenEnd(const JobRecords&) const override { return std::optional<JobStatus>(); }
  Status Settle(const JobRecords&) const override { return Ok(); }
  std::string KeeperFailureHint(const JobRecords&) const override { return ""; }
  Result<bool> EndInScheduler(const JobId& job, const std::string& reason) const override {
    ended += StrCat(job.value, " ", reason, "\n");
    return answer;
  }
  Result<bool> answer = true;
  mutable std::string ended;
};

// The two signals may be read in any order.
bool EndedBySignal(int status) {
  return WIFEXITED(status) && (WEXITSTATUS(status) == 128 + SIGINT || WEXITSTATUS(status) == 128 + SIGTERM);
}

// Interrupts leaves a signal alone that the process ignores, and a program that is started in the background ignores
// SIGINT.
void TakeAllSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
}

void BlockForEver() {
  for (;;) pause();
}

TEST(InterruptsDeathTest, ASecondSignalEndsAProcessWhoseEventLoopIsBlocked) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        TakeAllSignals();
        EventLoop loop;
        Interrupts interrupts(loop, Duration(20));
        interrupts.EndAfter(2, [](int signal) { return StrCat("job x continues after ", signal); });
        kill(getpid(), SIGINT);
        kill(getpid(), SIGTERM);
        BlockForEver();
      },
      EndedBySignal, "^interrupted; job x continues after (2|15)\n$");
}

TEST(InterruptsDeathTest, TheFirstSignalDoesNotEndAProcessIfTheLimitIsRaisedToTwoSignals) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        TakeAllSignals();
        EventLoop loop;
        Interrupts interrupts(loop, Duration(20));
        interrupts.EndAfter(1, [](int) { return "too early"; });
        int heard = 0;
        interrupts.Listen([&](int signal) {
          heard = signal;
          loop.Stop();
        });
        interrupts.EndAfter(2, [](int) { return "too early"; });
        kill(getpid(), SIGHUP);
        loop.Run();
        const auto timer = loop.After(Duration(200), [&] { loop.Stop(); });
        loop.Run();
        _exit(heard);
      },
      testing::ExitedWithCode(SIGHUP), "^$");
}

TEST(LastKillTest, TheSchedulerEndsTheJobIfTheKillNamesTheLastKnownOwner) {
  FakeArbiter arbiter;
  const JobId job{"application_1_0001"};
  JobStatus known;
  known.claim.owner = {"o1"};
  EXPECT_THAT(LastKill(arbiter, job, {.reason = "a", .if_owner = {"o2"}}, known),
              HasSubstr("another owner and continues"));
  EXPECT_THAT(LastKill(arbiter, job, {.reason = "b", .if_owner = {"o1"}}, std::nullopt), HasSubstr("may be lost"));
  EXPECT_EQ(arbiter.ended, "");
  EXPECT_THAT(LastKill(arbiter, job, {.reason = "c", .if_owner = {"o1"}}, known),
              HasSubstr("the scheduler ends job application_1_0001"));
  EXPECT_THAT(LastKill(arbiter, job, {.reason = "d"}, std::nullopt), HasSubstr("the scheduler ends job"));
  EXPECT_EQ(arbiter.ended, "application_1_0001 c\napplication_1_0001 d\n");
  arbiter.answer = Error{ErrorCode::kUnavailable, "rm:8032: refused"};
  EXPECT_EQ(
      LastKill(arbiter, job, {.reason = "e"}, std::nullopt),
      "the kill of job application_1_0001 may be lost: rm:8032: refused; \"tony kill application_1_0001\" repeats "
      "the kill");
  arbiter.answer = false;
  EXPECT_THAT(LastKill(arbiter, job, {.reason = "f"}, std::nullopt), HasSubstr("may be lost; "));
}

}  // namespace
}  // namespace tony
