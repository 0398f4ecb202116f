#include "runtime/net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::Not;

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() { Serve({}); }
  void Serve(const HttpLimits& limits, const HttpServer::Admits& admits = nullptr) {
    server.reset();
    UniqueFd listening = *ListenOn({"127.0.0.1", 0});
    port = BoundAddress(listening)->port;
    server.emplace(
        loop, std::move(listening), [this](const HttpRequest& r, HttpReply reply) { Answer(r, reply); }, limits,
        admits);
  }
  void Answer(const HttpRequest& request, const HttpReply& reply) {
    const std::string& name = request.path.front();
    if (name == "later") return later.push_back(reply);
    if (name == "never") return;
    if (name == "big") return reply.Send(TextAnswer(200, std::string(4 << 20, 'x')));
    reply.Send(TextAnswer(200, "<" + name + ">"));
  }
  // Expects that other clients are still served.
  void ExpectAlive() {
    RawBrowser other(loop, port);
    other.Get("/well");
    EXPECT_EQ(BodyOf(other.Answers()), "<well>");
  }

  EventLoop loop;
  std::vector<HttpReply> later;
  std::optional<HttpServer> server;
  int port = 0;
};

TEST_F(HttpServerTest, TheServerAnswersSuccessiveRequestsOnOneConnection) {
  RawBrowser browser(loop, port);
  for (const char* name : {"a", "b"}) {
    browser.Get("/" + std::string(name));
    const std::string answer = browser.Answers();
    EXPECT_EQ(StatusOf(answer), 200);
    EXPECT_EQ(BodyOf(answer), "<" + std::string(name) + ">");
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(HttpServerTest, EveryAnswerForbidsCachingAndFramingAndForeignContent) {
  RawBrowser browser(loop, port);
  browser.Send("GET /a HTTP/1.1\r\n\r\nBREW / HTTP/1.1\r\n\r\n");
  const std::string answers = browser.Answers(2);
  const size_t second = answers.find("HTTP/1.1", 10);
  for (const std::string& answer : {answers.substr(0, second), answers.substr(second)}) {
    EXPECT_THAT(answer, HasSubstr("Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self';"));
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    EXPECT_THAT(answer, HasSubstr("X-Frame-Options: DENY\r\n"));
    EXPECT_THAT(answer, HasSubstr("Referrer-Policy: no-referrer\r\n"));
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store\r\n"));
  }
}

TEST_F(HttpServerTest, AConnectionFromAForbiddenAddressIsClosed) {
  std::vector<std::string> asked;
  bool admits = false;
  Serve({}, [&](const std::string& address) { return asked.push_back(address), admits; });
  RawBrowser stranger(loop, port);
  EXPECT_TRUE(stranger.IsClosedSoon());
  EXPECT_EQ(stranger.Look(), "");
  admits = true;
  ExpectAlive();
  EXPECT_THAT(asked, testing::ElementsAre("127.0.0.1", "127.0.0.1"));
}

TEST_F(HttpServerTest, AHeadRequestIsAnsweredWithHeadersOnly) {
  RawBrowser browser(loop, port);
  browser.Send("HEAD /abc HTTP/1.1\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(browser.IsClosedSoon());
  const std::string answer = browser.Header();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(BodyOf(answer), "");
}

TEST_F(HttpServerTest, APostIsRefusedWith405AndTheAllowedMethods) {
  RawBrowser browser(loop, port);
  browser.Send("POST /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\nsome of it");
  ASSERT_TRUE(browser.IsClosedSoon());
  const std::string answer = browser.Answers();
  EXPECT_EQ(StatusOf(answer), 405);
  EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
  ExpectAlive();
}

TEST_F(HttpServerTest, ManyRequestsSentAtOnceAreAnsweredInOrder) {
  constexpr int kRequests = 150;  // more than the server reads ahead
  std::string all;
  for (int i = 0; i < kRequests; ++i)
    all += "GET /" + std::to_string(i) + "?" + std::string(200, 'x') + " HTTP/1.1\r\n\r\n";
  RawBrowser browser(loop, port);
  browser.Send(all);
  const std::string answers = browser.Answers(kRequests);
  size_t at = 0;
  for (int i = 0; i < kRequests; ++i) {
    at = answers.find("<" + std::to_string(i) + ">", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpServerTest, ADelayedAnswerDoesNotDelayOtherConnections) {
  RawBrowser patient(loop, port), quick(loop, port);
  patient.Get("/later");
  ASSERT_TRUE(RunUntil(loop, [&] { return later.size() == 1; }));
  quick.Get("/a");
  EXPECT_EQ(BodyOf(quick.Answers()), "<a>");
  EXPECT_EQ(patient.Look(), "");
  later[0].Send(TextAnswer(200, "at last"));
  later[0].Send(TextAnswer(200, "twice"));
  EXPECT_EQ(BodyOf(patient.Answers()), "at last");
}

TEST_F(HttpServerTest, TheAnswerForADisconnectedBrowserIsDropped) {
  RawBrowser browser(loop, port);
  browser.Get("/later");
  ASSERT_TRUE(RunUntil(loop, [&] { return later.size() == 1; }));
  browser.Vanish();
  ASSERT_TRUE(RunUntil(loop, [&] { return server->connections() == 0; }));
  later[0].Send(TextAnswer(200, "x"));
  ExpectAlive();
}

TEST_F(HttpServerTest, AConnectionIsClosedWhenTheHandlerDropsTheReply) {
  RawBrowser browser(loop, port);
  browser.Get("/never");
  EXPECT_TRUE(browser.IsClosedSoon());
}

TEST_F(HttpServerTest, MalformedRequestsCloseOnlyTheirOwnConnection) {
  RawBrowser good(loop, port);
  good.Get("/a");
  EXPECT_EQ(BodyOf(good.Answers()), "<a>");
  for (const std::string& garbage :
       {std::string("\0\1\2", 3), std::string("\x16\x03\x01\x02"), std::string("GET /%%% HTTP/1.1\r\n\r\n"),
        std::string("GET /a/..%2fb HTTP/1.1\r\n\r\n"), "GET / " + std::string(20000, 'x')}) {
    RawBrowser bad(loop, port);
    bad.Send(garbage);
    EXPECT_TRUE(bad.IsClosedSoon());
  }
  good.Get("/b");
  EXPECT_EQ(BodyOf(good.Answers()), "<b>");
}

TEST_F(HttpServerTest, TheServerStopsReadingWhileAnAnswerIsPending) {
  RawBrowser browser(loop, port);
  browser.Get("/later");
  ASSERT_TRUE(RunUntil(loop, [&] { return later.size() == 1; }));
  // The flood is far larger than the kernel's buffers, so it blocks once the server stops reading.
  const std::string flood(1 << 20, 'G');
  size_t sent = 0;
  for (int idle = 0; idle < 50;) {
    const ssize_t n = ::send(browser.fd(), flood.data(), flood.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent += static_cast<size_t>(n);
    idle = n > 0 ? 0 : idle + 1;
    RunUntil(loop, [] { return true; });
    if (sent > (64u << 20)) break;
  }
  EXPECT_LT(sent, 64u << 20);
  ExpectAlive();
}

TEST_F(HttpServerTest, AnAnswerLargerThanTheKernelsBuffersArrivesWhole) {
  RawBrowser browser(loop, port);
  browser.Get("/big");
  EXPECT_EQ(BodyOf(browser.Answers()).size(), 4u << 20);
}

TEST_F(HttpServerTest, ANewConnectionAboveMaxConnectionsIsClosed) {
  Serve({.max_connections = 2});
  RawBrowser first(loop, port), second(loop, port);
  first.Get("/a");
  first.Answers();
  second.Get("/a");
  second.Answers();
  RawBrowser third(loop, port);
  EXPECT_TRUE(third.IsClosedSoon());
  first.Vanish();
  ASSERT_TRUE(RunUntil(loop, [&] { return server->connections() == 1; }));
  ExpectAlive();
}

TEST_F(HttpServerTest, StopSendsPendingAnswersBeforeItClosesTheirConnections) {
  RawBrowser waiting(loop, port), reading(loop, port);
  waiting.Get("/later");
  reading.Get("/later");
  ASSERT_TRUE(RunUntil(loop, [&] { return later.size() == 2; }));
  later[0].Send(TextAnswer(200, "last words"));
  later[1].Send(TextAnswer(200, "last words"));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  ASSERT_TRUE(RunUntil(loop, [&] { return stopped; }));
  EXPECT_EQ(BodyOf(reading.Answers()), "last words");
  EXPECT_EQ(BodyOf(waiting.Answers()), "last words");
  EXPECT_TRUE(reading.IsClosedSoon());
}

}  // namespace
}  // namespace tony
