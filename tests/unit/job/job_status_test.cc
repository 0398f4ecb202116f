#include "runtime/job/job_status.h"

#include <gtest/gtest.h>

namespace tony {
namespace {

JobStatus Ended() {
  JobStatus status;
  status.job = {"local-1"};
  status.name = "train";
  status.user = "ann";
  status.framework = "pytorch";
  status.state = "FAILED";
  status.seq = 17;
  status.epoch = {2};
  status.generation = {1};
  status.submitted = FromMillis(1'800'000'000'123);
  status.ended = FromMillis(1'800'000'060'000);
  status.verdict = Verdict{FinalState::kFailed,
                           OutcomeClass::kUserError,
                           "worker:1#1 ended with exit code 3",
                           AttemptId{{"worker", 1}, 1},
                           "node-1",
                           ExitStatus{ExitStatus::Kind::kExited, 3},
                           "Traceback\n"};
  TaskStatus task;
  task.id = {"worker", 1};
  task.state = "done";
  task.attempt = 1;
  task.attempt_state = "failed";
  task.host = "node-1";
  task.outcome = Outcome{OutcomeClass::kUserError, ExitStatus{ExitStatus::Kind::kExited, 3}, "", "Traceback\n"};
  task.started = FromMillis(1'800'000'001'000);
  task.ended = FromMillis(1'800'000'059'000);
  status.tasks = {task};
  return status;
}

TEST(JobStatusTest, TheJsonOfAnEndedJobHasTheDocumentedForm) {
  EXPECT_EQ(
      ToJson(Ended()),
      R"({"schema":1,"job":"local-1","name":"train","user":"ann","framework":"pytorch","state":"FAILED","seq":17,)"
      R"("epoch":2,"generation":1,"submitted":"2027-01-15T08:00:00.123Z","ended":"2027-01-15T08:01:00.000Z",)"
      R"("verdict":{"state":"FAILED","class":"user_error","retryable":true,)"
      R"("message":"worker:1#1 ended with exit code 3","task":"worker:1","attempt":1,"host":"node-1",)"
      R"("exit_code":3,"stderr_tail":"Traceback\n"},"tasks":[{"task":"worker:1","state":"done","attempt":1,)"
      R"("attempt_state":"failed","host":"node-1","pid":0,"suspect":false,)"
      R"("started":"2027-01-15T08:00:01.000Z","ended":"2027-01-15T08:00:59.000Z",)"
      R"("outcome":{"class":"user_error","message":"","exit_code":3,"stderr_tail":"Traceback\n"}}],)"
      R"("restart_count":0,"restarts":[]})");
}

TEST(JobStatusTest, ResourceUsageIsWrittenOnceAndReadIntoBothTheTaskAndItsOutcome) {
  JobStatus status = Ended();
  const Usage used{.samples = 1, .memory_bytes = 123, .cpu = Duration(77)};
  status.tasks[0].usage = status.tasks[0].outcome->usage = used;
  const std::string text = ToJson(status);
  EXPECT_EQ(text.find("\"usage\":"), text.rfind("\"usage\":"));
  const auto read = JobStatusFromJson(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->tasks[0].usage, used);
  EXPECT_EQ(read->tasks[0].outcome->usage, used);
  status.tasks[0].usage.reset();
  EXPECT_EQ(JobStatusFromJson(ToJson(status))->tasks[0].usage, used);
}

TEST(JobStatusTest, AJobStatusSurvivesARoundTripThroughJson) {
  const auto read = JobStatusFromJson(ToJson(Ended()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), ToJson(Ended()));
  EXPECT_EQ(read->verdict, Ended().verdict);
  EXPECT_EQ(read->submitted, Ended().submitted);
  EXPECT_EQ(read->tasks[0].outcome, Ended().tasks[0].outcome);
}

TEST(JobStatusTest, RestartsSurviveARoundTripThroughJson) {
  JobStatus status = Ended();
  status.restart_count = 21;
  status.restarts = {{.number = 21,
                      .time = FromMillis(1'800'000'002'000),
                      .scope = "gang",
                      .cause = {{"worker", 1}, 1},
                      .reason = "worker:1 failed",
                      .charged = false}};
  status.trouble = "journal: no space left on device";
  const std::string text = ToJson(status);
  EXPECT_TRUE(text.ends_with(R"("restart_count":21,"restarts":[{"number":21,"time":"2027-01-15T08:00:02.000Z",)"
                             R"("scope":"gang","task":"worker:1","attempt":1,"reason":"worker:1 failed",)"
                             R"("charged":false}],"trouble":"journal: no space left on device"})"))
      << text;
  const auto read = JobStatusFromJson(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), text);
}

TEST(JobStatusTest, ToleratedFailuresAppearInTheJsonOnlyIfTheJobHasAny) {
  JobStatus status = Ended();
  EXPECT_EQ(ToJson(status).find("tolerated_failures"), std::string::npos);
  status.tolerated_failures = 3;
  const auto read = JobStatusFromJson(ToJson(status));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->tolerated_failures, 3);
}

TEST(JobStatusTest, TheCheckpointThatAJobResumedFromSurvivesARoundTripThroughJson) {
  JobStatus status = Ended();
  status.checkpoint = CheckpointStatus{"/c", Checkpoint{"/c/s-7", 7, {}, CheckpointWriter::kEarlierJob}, JobId{"j0"}};
  const std::string text = ToJson(status);
  EXPECT_NE(text.find(R"("checkpoint":{"directory":"/c",)"
                      R"("resumed_from":{"path":"/c/s-7","step":7,"writer":"earlier_job","job":"j0"}})"),
            std::string::npos)
      << text;
  EXPECT_EQ(ToJson(*JobStatusFromJson(text)), text);

  status.checkpoint = CheckpointStatus{.directory = "/c", .unknown = "why"};
  EXPECT_EQ(ToJson(*JobStatusFromJson(ToJson(status))), ToJson(status));
}

TEST(JobStatusTest, AStatusOfTheFirstReleaseIsReadAsHavingNoRestarts) {
  std::string text = ToJson(Ended());
  const std::string news = R"(,"restart_count":0,"restarts":[])";
  text.erase(text.find(news), news.size());
  const auto read = JobStatusFromJson(text);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(ToJson(*read), ToJson(Ended()));
}

TEST(JobStatusTest, TheStatusOfARunningJobHasNoVerdictAndNoEndTime) {
  JobStatus status = Ended();
  status.state = "RUNNING";
  status.verdict.reset();
  status.ended.reset();
  status.tasks[0].outcome.reset();
  status.tasks[0].started.reset();
  status.tasks[0].ended.reset();
  status.tasks[0].pid = 4711;
  status.tasks[0].suspect = true;
  const auto read = JobStatusFromJson(ToJson(status));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->verdict || read->ended || read->tasks[0].outcome || read->tasks[0].started);
  EXPECT_EQ(read->tasks[0].pid, 4711);
  EXPECT_TRUE(read->tasks[0].suspect);
}

TEST(JobStatusTest, AKillVerdictThatNamesNoTaskSurvivesARoundTripThroughJson) {
  JobStatus status = Ended();
  status.verdict =
      Verdict{FinalState::kKilled, OutcomeClass::kKilled, "killed by ann", std::nullopt, "", std::nullopt, ""};
  const auto read = JobStatusFromJson(ToJson(status));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->verdict, status.verdict);
  status.verdict->exit = ExitStatus{ExitStatus::Kind::kSignaled, 9};
  EXPECT_EQ(JobStatusFromJson(ToJson(status))->verdict, status.verdict);
}

TEST(JobStatusTest, InvalidUtf8InTheStderrTailBecomesReplacementCharacters) {
  JobStatus status = Ended();
  status.verdict->stderr_tail = "\xFF\xFE";
  const auto read = JobStatusFromJson(ToJson(status));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->verdict->stderr_tail, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JobStatusTest, AParseErrorNamesTheInvalidField) {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text = ToJson(Ended());
    text.replace(text.find(from), from.size(), to);
    const auto read = JobStatusFromJson(text);
    return read.ok() ? std::string("accepted") : read.error().message;
  };
  EXPECT_EQ(error_with("\"submitted\":\"2027", "\"submitted\":\"27"),
            "job status: field submitted: expected a time such as 2026-11-21T09:30:15.123Z");
  EXPECT_EQ(error_with("\"class\":\"user_error\"", "\"class\":\"?\""),
            "job status: field verdict.class: expected an outcome class");
  EXPECT_EQ(error_with("\"task\":\"worker:1\",\"state\"", "\"task\":\"worker\",\"state\""),
            "job status: field tasks[0].task: expected a task such as worker:0");
  EXPECT_EQ(error_with("\"suspect\":false", "\"suspect\":0"),
            "job status: field tasks[0].suspect: expected true or false");
  EXPECT_EQ(error_with("\"tasks\":[{", "\"tasks\":[1,{"), "job status: field tasks[0]: expected an object");
  EXPECT_EQ(error_with("{\"state\":\"FAILED\"", "{\"state\":\"RUNNING\""),
            "job status: field verdict.state: expected SUCCEEDED, FAILED or KILLED");
}

TEST(InstantTextTest, InstantsAreParsedBackFromTheirIso8601Text) {
  for (const int64_t ms : {int64_t{0}, int64_t{1}, int64_t{951'782'400'000}, int64_t{1'800'000'000'123}}) {
    EXPECT_EQ(InstantFromIso8601(ToIso8601(FromMillis(ms))), FromMillis(ms));
  }
}

TEST(InstantTextTest, OnlyUtcTimestampsWithMillisecondsAndRealDatesAreAccepted) {
  for (const auto* text :
       {"", "2027-01-15", "2027-01-15T08:00:00Z", "2027-02-29T08:00:00.000Z", "2027-13-01T08:00:00.000Z",
        "2027-01-15T24:00:00.000Z", "2027-01-15T08:60:00.000Z", "2027-01-15T08:00:60.000Z", "2027-01-15 08:00:00.000Z",
        "2027-01-15T08:00:00.000+", "2027-01-15T08:00:00.0000Z"}) {
    EXPECT_EQ(InstantFromIso8601(text), std::nullopt) << text;
  }
}

TEST(JobStatusTest, TagsAppearInTheJsonOnlyIfTheJobHasAny) {
  JobStatus status = Ended();
  EXPECT_EQ(ToJson(status).find("\"tags\""), std::string::npos);
  status.tags = {"azkaban.flow.execid:17", "mine"};
  const std::string text = ToJson(status);
  EXPECT_NE(text.find(R"("tags":["azkaban.flow.execid:17","mine"])"), std::string::npos);
  EXPECT_EQ(JobStatusFromJson(text)->tags, status.tags);
}

}  // namespace
}  // namespace tony
