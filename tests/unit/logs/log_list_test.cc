#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "runtime/base/strings.h"
#include "runtime/logs/local_log_source.h"
#include "runtime/logs/log_source.h"
#include "runtime/page/job_html.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TaskStatus Worker(int index, int attempt) {
  return {.id = {"worker", index}, .state = "active", .attempt = attempt, .attempt_state = "running"};
}

size_t CountOf(const std::string& text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class LogListTest : public testing::Test {
 protected:
  LogListTest() {
    status_.job = {"local-1"};
    status_.name = "train";
    status_.state = "RUNNING";
  }
  void Write(const std::string& name, const std::string& text) const {
    const fs::path path = temp_.path() / "logs" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::vector<int> Attempts(const TaskStatus& task, int most = 10) const {
    std::vector<int> numbers;
    for (const AttemptLogs& logs : ListLogs(LocalLogSource(records_), task, most))
      numbers.push_back(logs.attempt.number);
    return numbers;
  }
  std::string Html(bool ends_with_job = false) const {
    const auto logs = [this](const TaskStatus& task, int most) {
      return ListLogs(LocalLogSource(records_), task, most);
    };
    return LogListHtml({.status = status_, .logs = logs, .ends_with_job = ends_with_job});
  }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords(temp_.path());
  JobStatus status_;
};

TEST_F(LogListTest, AttemptsWithALogFolderAreListedNewestFirst) {
  EXPECT_THAT(Attempts(Worker(0, 0)), testing::IsEmpty());
  EXPECT_THAT(Attempts(Worker(0, 1)), testing::IsEmpty());
  for (const char* log : {"worker-0/1/stdout", "worker-0/2/stdout", "worker-0/4/stdout", "worker-0/5/stdout"})
    Write(log, "x");
  EXPECT_THAT(Attempts(Worker(0, 4)), testing::ElementsAre(4, 2, 1)) << "the fifth is nobody's yet";
}

TEST_F(LogListTest, OnlyTheNewest10AttemptsOfATaskAreListed) {
  for (int i = 1; i <= 25; ++i) Write("worker-0/" + std::to_string(i) + "/stdout", "x");
  EXPECT_THAT(Attempts(Worker(0, 25)), testing::ElementsAre(25, 24, 23, 22, 21, 20, 19, 18, 17, 16));
  EXPECT_THAT(Attempts(Worker(0, 25), 2), testing::ElementsAre(25, 24));
  status_.tasks = {Worker(0, 25)};
  EXPECT_THAT(Html(),
              AllOf(HasSubstr("only the newest 10 attempts of each task"), HasSubstr("<code>tony logs local-1 TASK#")));
  status_.tasks = {Worker(0, 10)};
  EXPECT_THAT(Html(), Not(HasSubstr("the newest 10")));
}

TEST_F(LogListTest, ALogIsListedWithItsSizeAndTheTimeOfItsLastChange) {
  Write("worker-0/1/stdout", "hello\n");
  const fs::path log = temp_.path() / "logs/worker-0/1/stdout";
  const timespec times[] = {{1, 0}, {1763717415, 123'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, log.c_str(), times, 0), 0);
  const auto logs = ListLogs(LocalLogSource(records_), Worker(0, 1), 10);
  ASSERT_EQ(logs.size(), 1u);
  ASSERT_TRUE(logs[0].files[0].has_value());
  EXPECT_EQ(logs[0].files[0]->size, 6);
  EXPECT_EQ(ToMillis(logs[0].files[0]->changed), 1763717415123);
  EXPECT_FALSE(logs[0].files[1].has_value());
  status_.tasks = {Worker(0, 1)};
  EXPECT_THAT(Html(),
              AllOf(HasSubstr("<a href=\"worker-0/1/stdout\">stdout</a> 6 bytes<br><time datetime=\"2025-11-21T"),
                    HasSubstr("<span class=\"task\">worker:0</span></td><td>1</td>"),
                    Not(HasSubstr("href=\"worker-0/1/stderr\""))));
}

TEST_F(LogListTest, EachProcessOfATaskHasARowInTheLogList) {
  JobSpec spec;
  spec.roles = {{.name = "worker", .command = "true", .processes = 2}};
  std::ofstream(temp_.path() / "spec.json") << ToJson(spec);
  for (const char* log : {"stdout", "stderr-1", "executor.log", "stdout-2"}) Write(StrCat("worker-0/1/", log), "x");
  const auto logs = ListLogs(LocalLogSource(records_), Worker(0, 1), 10);
  ASSERT_EQ(logs.size(), 1u);
  ASSERT_EQ(logs[0].files.size(), 5u);
  for (const size_t there : {0, 2, 4}) EXPECT_TRUE(logs[0].files[there].has_value()) << there;
  status_.tasks = {Worker(0, 1)};
  const std::string html = Html();
  EXPECT_EQ(CountOf(html, "<tr><td>"), 2u);
  EXPECT_THAT(html, AllOf(HasSubstr("</span></td><td>1, process 1</td><td>-</td>"),
                          HasSubstr("<a href=\"worker-0/1/stderr-1\">stderr-1</a>"), Not(HasSubstr("stdout-2"))));
}

TEST_F(LogListTest, AFileTimeOutsideTheCalendarIsShownAsTheNearestValidTime) {
  Write("worker-0/1/stdout", "");
  status_.tasks = {Worker(0, 1)};
  const auto html_at = [&](int64_t seconds) {
    const timespec times[] = {{1, 0}, {seconds, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, (temp_.path() / "logs/worker-0/1/stdout").c_str(), times, 0), 0);
    return Html();
  };
  for (const int64_t seconds : {INT64_MIN / 2, int64_t{-1} << 33, int64_t{-1}})
    EXPECT_THAT(html_at(seconds), HasSubstr("datetime=\"1970-01-01T00:00:00.000Z\""));
  // Some file systems have an upper limit of their own, in the year 2446.
  for (const int64_t seconds : {int64_t{1} << 40, INT64_MAX / 2})
    EXPECT_THAT(html_at(seconds), testing::AnyOf(HasSubstr("datetime=\"2446-"), HasSubstr("datetime=\"9999-12-31T")));
}

TEST_F(LogListTest, FoldersPipesAndSymlinksAreNotListedAsLogs) {
  const fs::path logs = temp_.path() / "logs";
  Write("worker-0/1/output.json", "{}");
  fs::create_symlink("/etc/passwd", logs / "worker-0/1/stdout");
  ASSERT_EQ(mkfifo((logs / "worker-0/1/stderr").c_str(), 0600), 0);
  fs::create_directory(logs / "worker-0/1/executor.log");
  fs::create_directory_symlink("/etc", logs / "worker-0/2");
  Write("worker-0/3", "a file");
  const auto listed = ListLogs(LocalLogSource(records_), Worker(0, 3), 10);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].attempt.number, 1);
  for (const auto& file : listed[0].files) EXPECT_FALSE(file.has_value());
}

TEST_F(LogListTest, FoldersWithHostileNamesAreIgnored) {
  for (const char* folder : {"<script>alert(1)<-0/1", "worker-0/<b>", "worker-0/01", "worker-0/-1", "worker-0/0",
                             "worker-0/1 onclick=x", "worker-0/1\n", "worker-0/\xff", "worker-00/1", "..worker-0/1"})
    Write(std::string(folder) + "/stdout", "x");
  Write("worker-0/1/stdout", "x");
  Write("worker-0/1/<img src=x>", "x");
  status_.tasks = {Worker(0, 3)};
  const std::string html = Html();
  EXPECT_EQ(CountOf(html, "<tr><td>"), 1u);
  EXPECT_EQ(CountOf(html, "<script"), 1u) << "our own";
  for (const char* text : {"alert", "<img", "onclick", "<b>", "worker-00"}) EXPECT_THAT(html, Not(HasSubstr(text)));
}

TEST_F(LogListTest, JobAndRoleNamesAreHtmlEscapedAndEveryLinkIsRelative) {
  const std::string evil = "<script>alert(1)</script>\"'&\x01\xff";
  status_.name = status_.state = evil;
  status_.job = {evil};
  status_.tasks = {Worker(0, 11)};
  status_.tasks[0].id.role = evil;
  const auto logs = [](const TaskStatus& task, int) {
    return std::vector<AttemptLogs>{{{task.id, 1}, {LogFile{}, {}, {}}}};
  };
  const std::string html = LogListHtml({.status = status_, .logs = logs});
  EXPECT_EQ(CountOf(html, "<script"), 1u) << "our own";
  EXPECT_EQ(CountOf(html, "alert(1)"), CountOf(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;") +
                                           CountOf(html, "/&lt;script&gt;alert(1)"));
  for (const char* absolute : {"href=\"/", "src=\"/", "href=\"http", "src=\"http", "//127"})
    EXPECT_THAT(html, Not(HasSubstr(absolute)));
  EXPECT_THAT(html, AllOf(HasSubstr("href=\"../page.css\""), HasSubstr("<a href=\"../\">The job</a>")));
}

TEST_F(LogListTest, TheLogPageSaysThatNoLogsExistYetBeforeTheFirstAttempt) {
  EXPECT_THAT(Html(), AllOf(HasSubstr("There are no logs yet."), HasSubstr("data-live=\"1\"")));
  status_.tasks = {Worker(0, 0)};
  EXPECT_THAT(Html(), HasSubstr("There are no logs yet."));
  status_.verdict = Verdict{};
  EXPECT_THAT(Html(), AllOf(HasSubstr("There are no logs."), HasSubstr("data-live=\"0\""),
                            Not(HasSubstr("tony portal"))));
  EXPECT_THAT(Html(/*ends_with_job=*/true), HasSubstr("tony portal"));
}

TEST_F(LogListTest, TheLogListShows100Of1000TasksWithFailedTasksFirst) {
  for (int i = 0; i < 1000; ++i) status_.tasks.push_back(Worker(i, 1));
  status_.tasks[777].attempt_state = "failed";
  int looked_at = 0;
  const auto html_of = [&](bool all) {
    looked_at = 0;
    const auto logs = [&](const TaskStatus& task, int most) {
      looked_at += most;
      return std::vector<AttemptLogs>{{{task.id, 1}, {LogFile{}, LogFile{}, LogFile{}}}};
    };
    return LogListHtml({.status = status_, .logs = logs, .all_tasks = all});
  };
  const std::string html = html_of(false);
  EXPECT_EQ(looked_at, 1000);
  EXPECT_EQ(CountOf(html, "class=\"task\""), 100u);
  EXPECT_THAT(html, AllOf(HasSubstr("worker-777/1/stderr"), HasSubstr("<a href=\"./?all=1\">"),
                          HasSubstr("100 of 1000 tasks, failed and delayed tasks first.")));
  EXPECT_LT(html.size(), 100'000u);
  const std::string all = html_of(true);
  EXPECT_EQ(looked_at, 1000) << "of more tasks fewer attempts";
  EXPECT_EQ(CountOf(all, "class=\"task\""), 1000u);
  EXPECT_THAT(all, Not(HasSubstr("newest attempt")));
  status_.tasks[500].attempt = 2;
  EXPECT_THAT(html_of(true), HasSubstr("only the newest attempt of each task; to see older attempts"));
}

}  // namespace
}  // namespace tony
