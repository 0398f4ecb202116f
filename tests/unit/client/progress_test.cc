#include "runtime/client/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TaskStatus Worker(int index, const std::string& state, int64_t pid = 0) {
  return {.id = {"worker", index},
          .state = "active",
          .attempt = 1,
          .attempt_state = state,
          .host = "127.0.0.1",
          .pid = pid};
}

JobStatus Running(std::vector<TaskStatus> tasks) {
  JobStatus status;
  status.job = {"local-1"};
  status.state = "RUNNING";
  status.epoch = {1};
  status.tasks = std::move(tasks);
  return status;
}

TEST(ProgressTest, AStartedTaskIsToldWithHostAndPid) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "registered")}), Running({Worker(0, "running", 77)})),
              ElementsAre("worker:0 running on 127.0.0.1 (pid 77)"));
}

TEST(ProgressTest, NothingIsToldTwice) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), Running({Worker(0, "running", 77)})), IsEmpty());
}

TEST(ProgressTest, StepsBetweenStartAndEndAreNoNews) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 7)}), Running({Worker(0, "stopping", 7)})), IsEmpty());
  EXPECT_THAT(ChangeLines(Running({Worker(0, "new")}), Running({Worker(0, "launching")})), IsEmpty());
}

TEST(ProgressTest, AFailureIsToldWithItsCause) {
  TaskStatus failed = Worker(0, "failed");
  failed.outcome = Outcome{.cls = OutcomeClass::kUserError, .exit = ExitStatus{ExitStatus::Kind::kExited, 3}};
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 7)}), Running({failed})),
              ElementsAre("worker:0 failed: exit code 3"));
}

TEST(ProgressTest, ANewApplicationMasterIsOneLine) {
  JobStatus after = Running({Worker(0, "running", 77)});
  after.epoch = {2};
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), after),
              ElementsAre("application master restarted (epoch 2); tasks kept running"));
}

TEST(ProgressTest, SilenceIsToldAndItsEndToo) {
  TaskStatus silent = Worker(0, "running", 77);
  silent.suspect = true;
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), Running({silent})),
              ElementsAre(HasSubstr("heartbeats are missing")));
  EXPECT_THAT(ChangeLines(Running({silent}), Running({Worker(0, "running", 77)})),
              ElementsAre("worker:0 is heard again"));
}

TEST(ProgressTest, TheVerdictNamesTheFirstCauseAndWhereToReadMore) {
  JobStatus status = Running({Worker(1, "failed")});
  status.state = "FAILED";
  status.submitted = FromMillis(1'000'000);
  status.ended = FromMillis(1'062'000);
  status.verdict = Verdict{.state = FinalState::kFailed,
                           .cls = OutcomeClass::kUserError,
                           .message = "worker:1 failed on 127.0.0.1: signal 11 (SIGSEGV)",
                           .attempt = AttemptId{{"worker", 1}, 1},
                           .host = "127.0.0.1",
                           .exit = ExitStatus{ExitStatus::Kind::kSignaled, 11},
                           .stderr_tail = "a\nb\n"};
  EXPECT_EQ(VerdictText(status, JobFolder("/h/jobs/local-1")),
            "job local-1 FAILED after 1 min 2 s\n"
            "  first cause: worker:1 failed on 127.0.0.1: signal 11 (SIGSEGV)\n"
            "  its last words on stderr:\n    a\n    b\n"
            "  more: tony logs local-1 worker:1#1\n"
            "  logs: /h/jobs/local-1/logs\n");
}

TEST(ProgressTest, AJobThatNobodyRulesIsToldHowToBringItBack) {
  const KnownStatus known = {.status = Running({Worker(0, "running", 77)}), .am_reachable = false, .unruled = true};
  const std::string text = StatusText(known, JobFolder("/h/jobs/local-1"), FromMillis(0));
  EXPECT_THAT(text, HasSubstr("nobody rules this job; tony wait local-1 brings it back"));
  EXPECT_THAT(text, Not(HasSubstr("cannot be reached")));
}

}  // namespace
}  // namespace tony
