#include "runtime/page/job_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kEvil = "<script>alert(1)</script>\"'&\x01\xff";

size_t Count(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

JobStatus Running(int workers) {
  JobStatus status;
  status.job = {"local-20261121-093015-4f2a9c"};
  status.name = "train";
  status.user = "ann";
  status.framework = "pytorch";
  status.state = "RUNNING";
  status.seq = 12;
  status.submitted = FromMillis(1763717415000);
  for (int i = 0; i < workers; ++i)
    status.tasks.push_back({.id = {"worker", i}, .state = "active", .attempt = 1, .attempt_state = "running"});
  return status;
}

JobStatus Failed() {
  JobStatus status = Running(2);
  status.state = "FAILED";
  status.ended = status.submitted + std::chrono::seconds(75);
  Verdict verdict{
      .state = FinalState::kFailed, .cls = OutcomeClass::kUserError, .message = "worker:1 failed: exit code 3"};
  verdict.attempt = AttemptId{{"worker", 1}, 2};
  verdict.host = "node-3";
  verdict.exit = ExitStatus{ExitStatus::Kind::kExited, 3};
  verdict.stderr_tail = "Traceback\nValueError: bad\n";
  status.verdict = verdict;
  return status;
}

std::string Html(const JobStatus& status, bool all = false) {
  return JobHtml({.status = status, .now = status.submitted + std::chrono::seconds(60), .all_tasks = all});
}

TEST(JobHtmlTest, ToleratedTaskFailuresAreCountedOnTheJobPage) {
  JobStatus status = Running(2);
  EXPECT_THAT(Html(status), Not(HasSubstr("Failed tasks")));
  status.tolerated_failures = 2;
  EXPECT_THAT(Html(status), HasSubstr("Failed tasks:</strong> 2 tasks have failed; the job tolerates these failures"));
  status.verdict = Verdict{.message = "97 of 100 tracked tasks succeeded"};
  EXPECT_THAT(Html(status), HasSubstr("Failed tasks:</strong> 97 of 100 tracked tasks succeeded"));
}

TEST(JobHtmlTest, TheNumberOfApplicationMastersIsShownAfterAMasterRestart) {
  JobStatus status = Running(1);
  for (const int64_t epoch : {0, 1}) {
    status.epoch = {epoch};
    EXPECT_THAT(Html(status), Not(HasSubstr("Application masters"))) << epoch;
  }
  status.epoch = {2};
  EXPECT_THAT(Html(status), HasSubstr("Application masters</dt><dd>2</dd>"));
}

TEST(JobHtmlTest, ThePageOfARunningJobIsMarkedLiveAndShowsTaskCountsAndLogLinks) {
  const std::string html = Html(Running(2));
  EXPECT_THAT(html, HasSubstr("<main data-live=\"1\" data-seq=\"12\" data-pause=\"0\">"));
  EXPECT_THAT(html, HasSubstr("<span class=\"badge busy\">RUNNING</span>"));
  EXPECT_THAT(html, HasSubstr("2 tasks: 2 running"));
  EXPECT_THAT(html, HasSubstr("<a href=\"logs/worker-1/1/stderr\">stderr</a>"));
  EXPECT_THAT(html, HasSubstr("<dd>1:00</dd>"));
  EXPECT_THAT(html, Not(HasSubstr("role=\"alert\"")));
}

TEST(JobHtmlTest, ThePageOfAFailedJobShowsTheFirstFailureAboveTheTasks) {
  const std::string html = Html(Failed());
  EXPECT_THAT(html, HasSubstr("data-live=\"0\""));
  EXPECT_THAT(html,
              AllOf(HasSubstr("What failed first"), HasSubstr("worker:1 failed: exit code 3"), HasSubstr("node-3"),
                    HasSubstr("<a href=\"logs/worker-1/2/stderr\">"), HasSubstr("Traceback\nValueError: bad"),
                    HasSubstr("tony logs local-20261121-093015-4f2a9c worker:1#2")));
  EXPECT_LT(html.find("What failed first"), html.find("<h2>worker"));
}

TEST(JobHtmlTest, TextFromUsersAndTasksIsEscaped) {
  JobStatus status = Failed();
  const std::string evil(kEvil);
  status.name = status.user = status.framework = status.trouble = status.delay = status.request.value = evil;
  status.verdict->message = status.verdict->host = status.verdict->stderr_tail = evil;
  status.planned_kill = KillRequest{.reason = evil};
  status.restarts.push_back({.number = 1, .scope = evil, .cause = {{"worker", 0}, 1}, .reason = evil});
  TaskStatus& task = status.tasks[0];
  task.id.role = task.state = task.attempt_state = task.host = evil;
  task.outcome = Outcome{.cls = OutcomeClass::kUserError, .message = evil};
  const std::string html = Html(status);
  EXPECT_EQ(Count(html, "<script"), 1u) << "our own";
  EXPECT_EQ(Count(html, "alert(1)"), Count(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\uFFFD\uFFFD"));
  EXPECT_GE(Count(html, "alert(1)"), 15u);
}

TEST(JobHtmlTest, EveryLinkOnTheJobPageIsRelative) {
  const std::string html = Html(Failed());
  for (const char* absolute : {"href=\"/", "src=\"/", "href=\"http", "src=\"http", "//127"})
    EXPECT_THAT(html, Not(HasSubstr(absolute)));
}

TEST(JobHtmlTest, TheJobPageShowsTheFailedTaskAmong100Of1000Tasks) {
  JobStatus status = Running(1000);
  status.tasks[777].attempt_state = "failed";
  const std::string html = Html(status);
  EXPECT_EQ(Count(html, "class=\"task\""), 100u);
  EXPECT_THAT(html, HasSubstr("worker:777"));
  EXPECT_THAT(html, HasSubstr("<a href=\"./?all=1\">"));
  EXPECT_THAT(html, HasSubstr("1000 tasks: 1 failed, 999 running"));
  EXPECT_LT(html.size(), 120'000u);
  EXPECT_EQ(Count(Html(status, /*all=*/true), "class=\"task\""), 1000u);
}

TEST(JobHtmlTest, TheTimeBreakdownIsShownIfTheJobHistoryIsAvailable) {
  const JobStatus status = Running(1);
  JobHistory history;
  history.time.running = std::chrono::seconds(50);
  history.time.waiting = std::chrono::seconds(10);
  const std::string html = JobHtml({.status = status, .history = &history, .now = status.submitted});
  EXPECT_THAT(html, HasSubstr("Where the time went"));
  EXPECT_THAT(html, HasSubstr("50.0 s"));
  EXPECT_THAT(Html(status), Not(HasSubstr("Where the time went")));
}

TEST(JobHtmlTest, APageThatEndsWithItsJobShowsThePortalCommand) {
  const JobStatus status = Failed();
  const auto html = [&](bool ends) { return JobHtml({.status = status, .now = *status.ended, .ends_with_job = ends}); };
  EXPECT_THAT(html(true), HasSubstr("tony portal"));
  EXPECT_THAT(html(false), Not(HasSubstr("tony portal")));
}

TEST(SideHtmlTest, ALogPageHasEscapedTextAndRelativeLinks) {
  LogPiece piece{.text = std::string(kEvil), .begin = 100, .next = 130, .size = 200};
  const std::string html = LogHtml({{{"worker", 3}, 1}, "stderr", piece, false});
  EXPECT_EQ(Count(html, "<script"), 1u);
  EXPECT_THAT(html, HasSubstr("From byte 100 of 200"));
  EXPECT_THAT(html, HasSubstr("<a href=\"stderr?cursor=130\">Next part</a>"));
  EXPECT_THAT(html, HasSubstr("href=\"../../../page.css\""));
  EXPECT_THAT(html, HasSubstr("data-cursor=\"\""));
  EXPECT_THAT(LogHtml({{{"worker", 3}, 1}, "stderr", piece, true}), HasSubstr("data-cursor=\"130\""));
}

TEST(SideHtmlTest, TheConfigurationPageEscapesItsText) {
  const std::string evil(kEvil);
  EXPECT_EQ(Count(ConfigurationHtml({{evil, evil, evil}}), "<script"), 1u);
}

TEST(SideHtmlTest, TheConfigurationPageShowsOwnValuesBeforeDefaults) {
  const std::string html = ConfigurationHtml({{"a", "1", "default"}, {"b", "2", "job.yaml:3"}});
  EXPECT_LT(html.find("<code>b</code>"), html.find("<summary>1 default</summary>"));
  EXPECT_GT(html.find("<code>a</code>"), html.find("<summary>1 default</summary>"));
}

TEST(JobHtmlTest, ThePageLeadsToTheListThatItBelongsTo) {
  JobStatus status;
  EXPECT_THAT(JobHtml({.status = status, .list = "../../"}), HasSubstr("<a href=\"../../\">All jobs</a>"));
  EXPECT_THAT(JobHtml({.status = status}), Not(HasSubstr("All jobs")));
}

}  // namespace
}  // namespace tony
