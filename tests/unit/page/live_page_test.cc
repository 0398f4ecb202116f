#include "runtime/page/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/logs/local_log_source.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

using testing::HasSubstr;

size_t Threads() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

class LivePageTest : public testing::Test {
 protected:
  LivePageTest() {
    std::ofstream(temp.path() / "page-token") << "0123456789abcdef0123456789abcdef";
    auto opened = LivePage::Open(loop, folder, std::make_shared<LocalLogSource>(folder), UniqueFd(), kLoopback);
    EXPECT_TRUE(opened.ok());
    page = *std::move(opened);
    port = std::stoi(page->url().substr(page->url().rfind(':') + 1));
    status.job = {"local-1"};
    status.state = "RUNNING";
    status.seq = 1;
  }
  void Serve() {
    page->Serve([this] {
      ++looks;
      return status;
    });
  }
  std::string path() const { return page->url().substr(page->url().find('/', 8)); }

  TempFolder temp;
  JobRecords folder = LocalJobRecords(temp.path());
  EventLoop loop;
  JobStatus status;
  int looks = 0;
  int port = 0;
  std::unique_ptr<LivePage> page;
};

TEST_F(LivePageTest, APageWithoutVisitorsStartsNoThreadAndDoesNotQueryTheJob) {
  const size_t before = Threads();
  Serve();
  bool later = false;
  const auto timer = loop.After(Duration(50), [&] { later = true; });
  ASSERT_TRUE(RunUntil(loop, [&] { return later; }));
  EXPECT_EQ(Threads(), before);
  EXPECT_EQ(looks, 0);
  page->End();
}

TEST_F(LivePageTest, ARequestForTheStatusQueriesTheJobOnce) {
  Serve();
  RawBrowser browser(loop, port);
  browser.Get(path() + "status.json");
  EXPECT_THAT(browser.Answers(), HasSubstr("\"job\":\"local-1\""));
  EXPECT_EQ(looks, 1);
}

TEST_F(LivePageTest, RequestsWithoutThePageTokenReturn404AndDoNotQueryTheJob) {
  Serve();
  RawBrowser browser(loop, port);
  for (const std::string target : {"/", "/0123/", "/status.json", "/page.css"}) {
    browser.Get(target);
    EXPECT_EQ(StatusOf(browser.Answers()), 404) << target;
  }
  EXPECT_EQ(looks, 0);
}

TEST_F(LivePageTest, ARequestThatArrivesWhileThePageStopsReceivesTheFinalStatus) {
  Serve();
  RawBrowser browser(loop, port);
  browser.Get(path());
  EXPECT_THAT(browser.Answers(), HasSubstr("data-live=\"1\""));
  JobStatus last = status;
  last.state = "SUCCEEDED";
  last.seq = 9;
  last.verdict = Verdict{};
  last.ended = Instant();
  ASSERT_TRUE(folder.WriteStatus(last, Durability::kLostWithPower).ok());
  // This request arrives while the page is about to stop; End() does not return before it is answered.
  std::thread later([&] {
    const std::string ask = "GET " + path() + "?since=1&timeout=30 HTTP/1.1\r\n\r\n";
    std::this_thread::yield();
    (void)::send(browser.fd(), ask.data(), ask.size(), MSG_NOSIGNAL);
  });
  page->End();
  later.join();
  ASSERT_TRUE(browser.IsClosedSoon());
  EXPECT_THAT(browser.Look(), HasSubstr("data-live=\"0\""));
  page->End();
}

TEST_F(LivePageTest, ThePageServerStopsEvenIfTheEventLoopOfTheMasterIsBlocked) {
  Serve();
  RawBrowser browser(loop, port);
  browser.Get("/");
  browser.Answers();
  const std::string ask = "GET " + path() + " HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(browser.fd(), ask.data(), ask.size(), MSG_NOSIGNAL), static_cast<ssize_t>(ask.size()));
  page->End();  // The loop does not run.
  page.reset();
}

// A page behind a proxy, which names the user of each request.
class GatedPageTest : public LivePageTest {
 protected:
  GatedPageTest() {
    UniqueFd listening = *ListenOn({kLoopback, 0});
    port = BoundAddress(listening)->port;
    const auto ask = [](const HttpRequest& request, const PageGate::OnRefusal& done) {
      done(CookieOf(request, "proxy-user") == "eve" ? std::nullopt : std::optional(TextAnswer(403, "no")));
    };
    page = std::make_unique<LivePage>(
        loop, folder, std::make_shared<LocalLogSource>(folder),
        PageSite{.listening = std::move(listening),
                 .url = "http://n1:1/",
                 .below = 0,
                 .make_gate = [ask](EventLoop&) { return PageGate{.admits = nullptr, .ask = ask}; },
                 .pause = Duration(2000)});
    Serve();
  }
  static std::string As(const std::string& user, const std::string& target) {
    return "GET " + target + " HTTP/1.1\r\nHost: x\r\nCookie: proxy-user=" + user + "\r\n\r\n";
  }
};

TEST_F(GatedPageTest, APageBehindAProxyRefusesOtherUsersWith403WithoutQueryingTheJob) {
  RawBrowser browser(loop, port);
  for (const char* target : {"/", "/status.json", "/conf", "/page.css", "/nothing"}) {
    browser.Send(As("mallory", target));
    EXPECT_EQ(StatusOf(browser.Answers()), 403) << target;
  }
  EXPECT_EQ(looks, 0);
  browser.Send(As("eve", "/status.json"));
  EXPECT_THAT(browser.Answers(), HasSubstr("\"job\":\"local-1\""));
}

TEST_F(GatedPageTest, APageBehindAProxyRespondsToLongPollsAtOnce) {
  RawBrowser browser(loop, port);
  browser.Send(As("eve", "/"));
  EXPECT_THAT(browser.Answers(), HasSubstr("data-pause=\"2000\""));
  browser.Send(As("eve", "/?since=1&timeout=30"));
  EXPECT_THAT(browser.Answers(), HasSubstr("data-seq=\"1\"")) << "at once, as there is no news";
  page->End();
}

TEST_F(LivePageTest, TheNextMasterServesThePageOnTheSameSocket) {
  Serve();
  UniqueFd shared = UniqueFd();
  {
    auto other = LivePage::Open(loop, folder, std::make_shared<LocalLogSource>(folder), UniqueFd(),
                                // The socket is shared before the page serves, as an application master shares it.
                                kLoopback);
    ASSERT_TRUE(other.ok());
    shared = (*other)->ShareSocket();
    port = std::stoi((*other)->url().substr((*other)->url().rfind(':') + 1));
  }
  // The browser connects while no page serves.
  RawBrowser browser(loop, port);
  auto next = LivePage::Open(loop, folder, std::make_shared<LocalLogSource>(folder), std::move(shared), kLoopback);
  ASSERT_TRUE(next.ok());
  page = *std::move(next);
  Serve();
  browser.Get(path() + "status.json");
  EXPECT_EQ(StatusOf(browser.Answers()), 200);
}

}  // namespace
}  // namespace tony
