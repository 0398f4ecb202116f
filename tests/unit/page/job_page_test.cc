#include "runtime/page/job_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "runtime/logs/local_log_source.h"
#include "runtime/net/http_server.h"
#include "runtime/records/journal_format.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

class JobPageTest : public testing::Test {
 protected:
  JobPageTest() {
    status.job = {"local-1"};
    status.name = "train";
    status.state = "RUNNING";
    status.seq = 7;
    status.submitted = FromMillis(1763717415000);
    status.tasks.push_back({.id = {"worker", 0}, .state = "active", .attempt = 2, .attempt_state = "running"});
    UniqueFd listening = *ListenOn({"127.0.0.1", 0});
    port = BoundAddress(listening)->port;
    const auto ask = [this](const auto& answer) { loop.Post([this, answer] { answer(status); }); };
    page.emplace(JobPage::Parts{loop, LocalJobRecords(temp.path()),
                                std::make_shared<LocalLogSource>(LocalJobRecords(temp.path())), ask});
    const auto serve = [this](const HttpRequest& request, const HttpReply& reply) {
      request.path[0] == "t" ? page->Serve(request, 1, reply) : reply.Send(NotFound());
    };
    server.emplace(loop, std::move(listening), serve);
  }
  std::string Get(const std::string& target) {
    RawBrowser browser(loop, port);
    browser.Get(target);
    return browser.Answers();
  }
  void Write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((temp.path() / name).parent_path());
    std::ofstream(temp.path() / name) << text;
  }

  TempFolder temp;
  EventLoop loop;
  JobStatus status;
  int port = 0;
  std::optional<JobPage> page;
  std::optional<HttpServer> server;
};

TEST_F(JobPageTest, TheTensorBoardPageRedirectsToTensorBoardsAddress) {
  status.tensorboard_url = "http://node-7:6006/";
  const std::string answer = Get("/t/tensorboard");
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Refresh: 0; url=http://node-7:6006/\r\n"));
}

TEST_F(JobPageTest, ThePageNamesTheNotebookAndTheCommandThatOpensIt) {
  status.notebook_url = "http://node-7:23711/";
  EXPECT_THAT(Get("/t/"), AllOf(HasSubstr("href=\"http://node-7:23711/\""),
                                HasSubstr("<code>tony notebook --attach " + status.job.value + "</code>")));
}

TEST_F(JobPageTest, TheTensorBoardPageRefreshesUntilTensorBoardRuns) {
  const std::string answer = Get("/t/tensorboard");
  EXPECT_THAT(answer, HasSubstr("Refresh: 2\r\n"));
  EXPECT_THAT(answer, HasSubstr("The job has no TensorBoard now"));
}

TEST_F(JobPageTest, TheTensorBoardPageOfAnEndedJobSaysThatTheJobHasEnded) {
  status.verdict = Verdict{};
  const std::string answer = Get("/t/tensorboard");
  EXPECT_THAT(answer, HasSubstr("The job has ended"));
  EXPECT_THAT(answer, Not(HasSubstr("Refresh")));
}

TEST_F(JobPageTest, APageAddressWithoutTheTrailingSlashRedirectsToThePage) {
  const std::string answer = Get("/t/");
  EXPECT_EQ(StatusOf(answer), 200);
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("<h1>train "));
  const std::string to_it = Get("/t");
  EXPECT_EQ(StatusOf(to_it), 308);
  EXPECT_THAT(to_it, HasSubstr("Location: ./t/\r\n")) << "relative: a proxy's prefix stays";
}

TEST_F(JobPageTest, UnknownAddressesReturn404) {
  for (const char* target :
       {"/", "/x/", "/t/x", "/t//", "/t/status.json/", "/t/logs//", "/t/logs/worker-0", "/t/logs/worker-0/",
        "/t/logs/worker-0/1/", "/t/logs/worker-0/1/outcome.json", "/t/logs/worker-0/3/stdout",
        "/t/logs/worker-0/0/stdout", "/t/logs/worker-0/01/stdout", "/t/logs/worker-9/1/stdout",
        "/t/logs/worker-0/1/stdout.txt.txt", "/t/token", "/t/page-token", "/t/spec.json", "/t/journal"})
    EXPECT_EQ(StatusOf(Get(target)), 404) << target;
}

TEST_F(JobPageTest, ARequestForStatusJsonReturnsTheJobStatusAsJson) {
  const std::string answer = Get("/t/status.json");
  EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_EQ(BodyOf(answer), ToJson(status) + "\n");
}

TEST_F(JobPageTest, ALongPollReturnsAtTheNextStatusChange) {
  RawBrowser page_watcher(loop, port), json_watcher(loop, port);
  page_watcher.Get("/t/?since=7&timeout=30");
  json_watcher.Get("/t/status.json?since=7&timeout=30");
  status.state = "STOPPING";
  status.seq = 8;
  EXPECT_THAT(page_watcher.Answers(), HasSubstr("data-seq=\"8\""));
  EXPECT_THAT(json_watcher.Answers(), HasSubstr("\"state\":\"STOPPING\""));
}

TEST_F(JobPageTest, AWaitingClientReceivesTheFinalStatusWhenTheJobEnds) {
  RawBrowser watcher(loop, port);
  watcher.Get("/t/?since=7&timeout=30");
  ASSERT_TRUE(RunUntil(loop, [&] { return server->connections() == 1; }));
  JobStatus last = status;
  last.state = "SUCCEEDED";
  last.verdict = Verdict{};
  last.ended = last.submitted;
  bool ended = false;
  const auto soon = loop.After(Duration(50), [&] { page->End(last), ended = true; });
  EXPECT_THAT(watcher.Answers(), HasSubstr("data-live=\"0\""));
  EXPECT_TRUE(ended);
}

TEST_F(JobPageTest, InvalidNumbersInARequestReturn400) {
  for (const char* target : {"/t/?since=x", "/t/status.json?since=7&timeout=-1", "/t/logs/worker-0/1/stdout?cursor=1e9",
                             "/t/logs/worker-0/1/stdout.txt?max=-1", "/t/?since=99999999999999999999"})
    EXPECT_EQ(StatusOf(Get(target)), 400) << target;
}

TEST_F(JobPageTest, ALogRequestReturnsTheTextAfterItsCursor) {
  Write("logs/worker-0/1/stderr", "first\n\x1b[31msecond\x1b[0m <b>\n");
  const std::string plain = Get("/t/logs/worker-0/1/stderr.txt?cursor=6");
  EXPECT_THAT(plain, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(plain, HasSubstr("X-Tony-Cursor: 26\r\n"));
  EXPECT_EQ(BodyOf(plain), "second <b>\n");
  EXPECT_EQ(BodyOf(Get("/t/logs/worker-0/1/stderr.txt?cursor=26")), "");
  EXPECT_EQ(BodyOf(Get("/t/logs/worker-0/1/stderr.txt?cursor=0&max=6")), "first\n");
  EXPECT_THAT(Get("/t/logs/worker-0/1/stderr"), HasSubstr("second &lt;b&gt;\n</pre>"));
  EXPECT_THAT(Get("/t/logs/worker-0/2/stderr"), HasSubstr("Nothing was written."));
}

TEST_F(JobPageTest, ALogRequestReturnsAtMost256KibForAnyRequestedSize) {
  Write("logs/worker-0/1/stdout", std::string(1 << 20, 'x'));
  EXPECT_EQ(BodyOf(Get("/t/logs/worker-0/1/stdout.txt?cursor=0&max=999999999")).size(), 256u << 10);
}

TEST_F(JobPageTest, ALogRequestReturnsAtLeastOneWholeCharacter) {
  Write("logs/worker-0/1/stdout", "🚀€");
  const std::string first = Get("/t/logs/worker-0/1/stdout.txt?cursor=0&max=1");
  EXPECT_EQ(BodyOf(first), "🚀");
  EXPECT_THAT(first, HasSubstr("X-Tony-Cursor: 4\r\n"));
  EXPECT_EQ(BodyOf(Get("/t/logs/worker-0/1/stdout.txt?cursor=4&max=0")), "€");
}

TEST_F(JobPageTest, TheConfigurationPageIs404WithoutConfJsonAnd503IfConfJsonIsDamaged) {
  EXPECT_EQ(StatusOf(Get("/t/conf")), 404);
  Write("conf.json", R"([{"key":"tony.worker.instances","value":"<2>","source":"job.properties"}])");
  EXPECT_THAT(Get("/t/conf"), HasSubstr("<code>&lt;2&gt;</code>"));
  Write("conf.json", "[{");
  EXPECT_EQ(StatusOf(Get("/t/conf")), 503);
}

TEST_F(JobPageTest, ADamagedJournalHidesOnlyTheTimeBreakdownOfTheJobPage) {
  EXPECT_EQ(StatusOf(Get("/t/history.json")), 503);
  Write("journal", EncodeHeader());
  // A damaged journal is not read again at once.
  bool later = false;
  const auto timer = loop.After(Duration(600), [&] { later = true; });
  ASSERT_TRUE(RunUntil(loop, [&] { return later; }));
  const auto history = boost::json::parse(BodyOf(Get("/t/history.json")));
  EXPECT_EQ(history.at("job").as_string(), "local-1");
  EXPECT_THAT(Get("/t/"), HasSubstr("Where the time went"));
  Write("journal", "garbage that is no journal");
  const auto again = loop.After(Duration(600), [&] { later = false; });
  ASSERT_TRUE(RunUntil(loop, [&] { return !later; }));
  const std::string page_without = Get("/t/");
  EXPECT_EQ(StatusOf(page_without), 200);
  EXPECT_THAT(page_without, Not(HasSubstr("Where the time went")));
}

TEST_F(JobPageTest, ALogListAddressWithoutTheTrailingSlashRedirectsToTheLogList) {
  const std::string to_it = Get("/t/logs");
  EXPECT_EQ(StatusOf(to_it), 308);
  EXPECT_THAT(to_it, HasSubstr("Location: ./logs/\r\n"));
  const std::string none = Get("/t/logs/");
  EXPECT_EQ(StatusOf(none), 200);
  EXPECT_THAT(none, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(none, HasSubstr("There are no logs yet."));
  EXPECT_THAT(Get("/t/"), HasSubstr("<a href=\"logs/\">Logs</a>"));
}

TEST_F(JobPageTest, EachLinkInTheLogListOpensItsLog) {
  Write("logs/worker-0/1/stdout", "of the first");
  Write("logs/worker-0/2/executor.log", "of the second");
  const std::string list = Get("/t/logs/");
  EXPECT_LT(list.find("worker-0/2/executor.log"), list.find("worker-0/1/stdout"));
  size_t found = 0;
  for (size_t at = list.find("href=\"worker-"); at != std::string::npos; at = list.find("href=\"worker-", at + 1)) {
    const size_t begin = at + 6;
    const std::string log = Get("/t/logs/" + list.substr(begin, list.find('"', begin) - begin));
    EXPECT_EQ(StatusOf(log), 200);
    EXPECT_THAT(log, HasSubstr("<a href=\"../../\">All logs</a>"));
    EXPECT_THAT(log, HasSubstr("of the "));
    ++found;
  }
  EXPECT_EQ(found, 2u);
}

TEST_F(JobPageTest, ALongPollOfTheLogListReturnsTheLinksToTheLogsOfANewAttempt) {
  RawBrowser watcher(loop, port);
  watcher.Get("/t/logs/?since=7&timeout=30");
  Write("logs/worker-0/3/stdout", "x");
  status.tasks[0].attempt = 3;
  status.seq = 8;
  EXPECT_THAT(watcher.Answers(), HasSubstr("href=\"worker-0/3/stdout\""));
}

TEST_F(JobPageTest, PageCssAndPageJsHaveTheirContentTypes) {
  EXPECT_THAT(Get("/t/page.css"), HasSubstr("Content-Type: text/css"));
  EXPECT_THAT(Get("/t/page.js"), HasSubstr("Content-Type: text/javascript"));
}

}  // namespace
}  // namespace tony
