#include "runtime/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

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

TEST(ProgressTest, AStartedTaskIsReportedWithHostAndPid) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "registered")}), Running({Worker(0, "running", 77)})),
              ElementsAre("worker:0 running on 127.0.0.1 (pid 77)"));
}

TEST(ProgressTest, AnUnchangedTaskIsNotReportedAgain) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), Running({Worker(0, "running", 77)})), IsEmpty());
}

TEST(ProgressTest, TheStatesLaunchingAndStoppingOfATaskAreNotReported) {
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 7)}), Running({Worker(0, "stopping", 7)})), IsEmpty());
  EXPECT_THAT(ChangeLines(Running({Worker(0, "new")}), Running({Worker(0, "launching")})), IsEmpty());
}

TEST(ProgressTest, ATaskFailureIsReportedWithItsExitCode) {
  TaskStatus failed = Worker(0, "failed");
  failed.outcome = Outcome{.cls = OutcomeClass::kUserError, .exit = ExitStatus{ExitStatus::Kind::kExited, 3}};
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 7)}), Running({failed})),
              ElementsAre("worker:0 failed: exit code 3"));
}

TEST(ProgressTest, ARestartedApplicationMasterIsReportedInOneLine) {
  JobStatus after = Running({Worker(0, "running", 77)});
  after.epoch = {2};
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), after),
              ElementsAre("application master restarted (epoch 2); tasks kept running"));
}

TEST(ProgressTest, TheTrackingPageIsReportedInTheFirstLineAndAgainWhenItsUrlChanges) {
  JobStatus first = Running({Worker(0, "running", 77)});
  first.tracking_url = "http://127.0.0.1:4711/t/";
  EXPECT_THAT(ChangeLines(std::nullopt, first), Contains("page: http://127.0.0.1:4711/t/"));
  EXPECT_EQ(ChangeLines(std::nullopt, first).front(), "page: http://127.0.0.1:4711/t/");
  EXPECT_THAT(ChangeLines(first, first), IsEmpty());
  JobStatus moved = first;
  moved.tracking_url = "http://127.0.0.1:4712/t/";
  EXPECT_THAT(ChangeLines(first, moved), ElementsAre("page: http://127.0.0.1:4712/t/"));
}

TEST(ProgressTest, TheTensorBoardUrlIsReportedOnceWhenTheUrlBecomesKnown) {
  const JobStatus before = Running({Worker(0, "running", 77)});
  JobStatus after = before;
  after.tensorboard_url = "http://127.0.0.1:6006/";
  EXPECT_THAT(ChangeLines(before, after), ElementsAre("tensorboard: http://127.0.0.1:6006/"));
  EXPECT_THAT(ChangeLines(after, after), IsEmpty());
}

TEST(ProgressTest, TheEndOfTheTokensIsReportedWhenItMovesAndOnceWhenFreshTokensAreOverdue) {
  JobStatus first = Running({}), overdue = first, fresh = first;
  first.tokens_until = overdue.tokens_until = FromMillis(60'000);
  overdue.tokens_are_overdue = true;
  fresh.tokens_until = FromMillis(120'000);
  EXPECT_THAT(
      ChangeLines(Running({}), first),
      ElementsAre("the job can use the cluster until 1970-01-01T00:01:00.000Z; fresh tokens will extend this time"));
  EXPECT_THAT(ChangeLines(first, first), IsEmpty());
  const auto warning = ElementsAre(
      "warning: fresh tokens are overdue, so the job can use the cluster only until 1970-01-01T00:01:00.000Z; run: "
      "tony credentials push local-1");
  EXPECT_THAT(ChangeLines(first, overdue), warning);
  EXPECT_THAT(ImportantLines(first, overdue), warning);
  EXPECT_THAT(ChangeLines(overdue, overdue), IsEmpty());
  EXPECT_THAT(ChangeLines(overdue, fresh), SizeIs(1));
  EXPECT_THAT(ChangeLines(fresh, first), SizeIs(1)) << "fresh tokens may end earlier than those of the submit";
  EXPECT_THAT(ImportantLines(overdue, fresh), IsEmpty());
}

TEST(ProgressTest, MissingAndResumedHeartbeatsOfATaskAreReported) {
  TaskStatus silent = Worker(0, "running", 77);
  silent.suspect = true;
  EXPECT_THAT(ChangeLines(Running({Worker(0, "running", 77)}), Running({silent})),
              ElementsAre(HasSubstr("has not sent a heartbeat for some time")));
  EXPECT_THAT(ChangeLines(Running({silent}), Running({Worker(0, "running", 77)})),
              ElementsAre("worker:0 sends heartbeats again"));
}

TEST(ProgressTest, TheVerdictShowsTheFirstCauseTheStderrTailAndTheLogsCommand) {
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
  EXPECT_EQ(VerdictText(status, LocalJobRecords("/h/jobs/local-1")),
            "job local-1 FAILED after 1 min 2 s\n"
            "  first cause: worker:1 failed on 127.0.0.1: signal 11 (SIGSEGV)\n"
            "  last lines on stderr:\n    a\n    b\n"
            "  more: tony logs local-1 worker:1#1\n"
            "  logs: /h/jobs/local-1/logs\n");
}

TEST(ProgressTest, TheStatusOfAJobWithoutAMasterNamesTheCommandThatRestartsTheMaster) {
  const KnownStatus known = {.status = Running({Worker(0, "running", 77)}), .am_reachable = false, .unruled = true};
  const std::string text = StatusText(known, LocalJobRecords("/h/jobs/local-1"), FromMillis(0));
  EXPECT_THAT(text, HasSubstr("no application master runs for this job; tony wait local-1 starts one"));
  EXPECT_THAT(text, Not(HasSubstr("cannot be reached")));
}

TEST(ProgressTest, AToleratedTaskFailureIsReportedAndMentionedInTheVerdict) {
  const JobStatus before = Running({Worker(0, "running", 77)});
  JobStatus after = before;
  after.tolerated_failures = 1;
  EXPECT_THAT(ChangeLines(before, after), ElementsAre("1 task has failed, and the job continues"));
  EXPECT_THAT(ChangeLines(after, after), IsEmpty());
  EXPECT_THAT(StatusText({.status = after, .am_reachable = true}, LocalJobRecords("/h/jobs/local-1"), FromMillis(0)),
              HasSubstr("\n  1 task has failed, and the job continues\n"));
  after.state = "SUCCEEDED";
  after.ended = FromMillis(1);
  after.verdict = Verdict{.message = "1 of 2 tracked tasks succeeded; 1 task failed: worker:1 failed"};
  EXPECT_THAT(VerdictText(after, LocalJobRecords("/h/jobs/local-1")),
              HasSubstr("\n  despite failures: 1 of 2 tracked tasks succeeded; 1 task failed: worker:1 failed\n"));
  EXPECT_THAT(ChangeLines(before, after), IsEmpty()) << "the verdict says it";
}

JobStatus Restarted(const std::string& state, Generation generation) {
  JobStatus status = Running({Worker(0, "running", 77)});
  status.state = state;
  status.generation = generation;
  status.restart_count = 1;
  status.restarts = {{.number = 1,
                      .scope = "gang",
                      .cause = {{"worker", 1}, 1},
                      .reason = "worker:1 failed on h: exit code 3 (user_error)"}};
  return status;
}

TEST(ProgressTest, AGangRestartIsReportedInOneLine) {
  JobStatus before = Running({Worker(0, "running", 77)});
  before.generation = {1};
  JobStatus after = Restarted("RESTARTING", {1});
  after.tasks[0] = Worker(0, "killed");
  EXPECT_THAT(ChangeLines(before, after),
              ElementsAre("restart 1 (gang): worker:1 failed on h: exit code 3 (user_error)"));
  EXPECT_THAT(ChangeLines(after, Restarted("RESTARTING", {2})),
              testing::Not(testing::Contains(HasSubstr("restart 1"))));
}

TEST(ProgressTest, ARestartedGangIsReportedEvenIfTheRestartingStateWasMissed) {
  JobStatus before = Running({Worker(0, "running", 77)});
  before.generation = {1};
  const JobStatus after = Restarted("RUNNING", {2});
  EXPECT_THAT(ChangeLines(before, after), testing::Contains("job running again (generation 2)"));
  EXPECT_THAT(ChangeLines(Restarted("RESTARTING", {1}), after), ElementsAre("job running again (generation 2)"));
  EXPECT_THAT(ChangeLines(Restarted("RESTARTING", {2}), after), ElementsAre("job running again (generation 2)"));
  EXPECT_THAT(ChangeLines(after, after), IsEmpty());
}

TEST(ProgressTest, OnlyLostTasksAndMasterRestartsAreReportedWhileALiveTableIsShown) {
  JobStatus before = Running({Worker(0, "registered"), Worker(1, "running", 7), Worker(2, "running", 8)});
  before.generation = {1};
  JobStatus after = Running({Worker(0, "running", 77), Worker(1, "succeeded"), Worker(2, "lost")});
  after.generation = {1};
  after.epoch = {2};
  after.delay = "waits for 8192 MB of memory";
  EXPECT_THAT(ImportantLines(before, after),
              ElementsAre("application master restarted (epoch 2); tasks kept running", "worker:2 lost"));
  EXPECT_THAT(ImportantLines(std::nullopt, before), IsEmpty());
}

TEST(ProgressTest, ThePendingReasonIsReportedOnce) {
  JobStatus delayed = Running({});
  delayed.delay = "waits for 8192 MB of memory: 2 jobs are before it";
  EXPECT_THAT(ChangeLines(Running({}), delayed), ElementsAre("job waits for 8192 MB of memory: 2 jobs are before it"));
  EXPECT_THAT(ChangeLines(delayed, delayed), IsEmpty());
  EXPECT_THAT(ChangeLines(delayed, Running({})), IsEmpty());
  EXPECT_EQ(NewsLine(delayed), delayed.delay);
  EXPECT_EQ(NewsLine(Running({})), "-");
}

TEST(ProgressTest, TheBeginningAndTheEndOfDegradedOperationAreReported) {
  JobStatus troubled = Running({});
  troubled.trouble = "journal: no space left on device";
  EXPECT_THAT(ChangeLines(Running({}), troubled), ElementsAre("degraded: journal: no space left on device"));
  EXPECT_THAT(ChangeLines(troubled, troubled), IsEmpty());
  EXPECT_THAT(ChangeLines(troubled, Running({})), ElementsAre("the job is no longer degraded"));
}

TEST(ProgressTest, TheStatusCommandShowsTheDegradedStateTheRestartsAndTheAttempts) {
  JobStatus status = Restarted("RUNNING", {2});
  status.trouble = "journal: no space left on device";
  status.tasks[0].attempt = 2;
  status.tasks[0].usage = Usage{.samples = 3, .memory_bytes = 5 << 20, .most_memory_bytes = 7 << 20, .millicores = 500};
  status.delay = "waits for 8192 MB of memory";
  const std::string text = StatusText({.status = status, .am_reachable = true}, LocalJobRecords("/j"), FromMillis(0));
  EXPECT_THAT(text, HasSubstr("  degraded: journal: no space left on device\n"));
  EXPECT_THAT(text, HasSubstr("  restarts: 1, the last (gang): worker:1 failed on h: exit code 3 (user_error)\n"));
  EXPECT_THAT(text, HasSubstr("  worker:0  2  "));
  EXPECT_THAT(text, HasSubstr("  77    5 MB  7 MB  50%  127.0.0.1\n"));
  EXPECT_THAT(text, HasSubstr("  waits for 8192 MB of memory\n"));
}

TEST(ProgressTest, TheStatusCommandShowsTheResumedCheckpointAndItsWriter) {
  JobStatus status = Restarted("RUNNING", {2});
  const auto text = [&] {
    return StatusText({.status = status, .am_reachable = true}, LocalJobRecords("/j"), FromMillis(0));
  };
  status.checkpoint = CheckpointStatus{.directory = "/c"};
  EXPECT_THAT(text(), Not(HasSubstr("/c")));
  status.checkpoint->resumed_from = Checkpoint{.path = "/c/s-7"};
  EXPECT_THAT(text(), HasSubstr("  resumed from /c/s-7: this job wrote the checkpoint\n"));
  status.checkpoint->resumed_from->writer = CheckpointWriter::kOthers;
  EXPECT_THAT(text(), HasSubstr("  resumed from /c/s-7: the checkpoint existed before this job\n"));
  status.checkpoint->resumed_from->writer = CheckpointWriter::kEarlierJob;
  status.checkpoint->earlier_job = JobId{"job-0"};
  EXPECT_THAT(text(), HasSubstr("  resumed from /c/s-7: job job-0 of the same request wrote the checkpoint\n"));
  status.checkpoint = CheckpointStatus{.directory = "/c", .unknown = "it is gone"};
  EXPECT_THAT(text(), HasSubstr("  the writer of the checkpoints in /c is unknown: it is gone\n"));
}

TEST(ProgressTest, TheStatusCommandShowsTheTagsOfTheJobInOneLine) {
  JobStatus status = Running({Worker(0, "running", 77)});
  const KnownStatus untagged = {.status = status, .am_reachable = true};
  EXPECT_THAT(StatusText(untagged, LocalJobRecords("/j"), FromMillis(0)), Not(HasSubstr("tags")));
  status.tags = {"azkaban.flow.execid:17", "mine"};
  const KnownStatus tagged = {.status = status, .am_reachable = true};
  EXPECT_THAT(StatusText(tagged, LocalJobRecords("/j"), FromMillis(0)),
              HasSubstr("\n  tags: azkaban.flow.execid:17, mine\n"));
}

}  // namespace
}  // namespace tony
