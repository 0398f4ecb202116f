// The limits of the page's HTTP server for clients that are slow on purpose.
#include <gtest/gtest.h>

#include <list>

#include "runtime/net/http_server.h"
#include "tests/support/no_more_files.h"
#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

class HttpLimitsTest : public testing::Test {
 protected:
  HttpLimitsTest() {
    UniqueFd listening = *ListenOn({"127.0.0.1", 0});
    port = BoundAddress(listening)->port;
    const HttpLimits limits{.header = Duration(100), .idle = Duration(200), .stalled = Duration(100)};
    Serve(std::move(listening), limits);
  }
  void Serve(UniqueFd listening, const HttpLimits& limits) {
    const auto serve = [this](const HttpRequest& request, const HttpReply& reply) {
      if (request.path.front() == "guess") return reply.Send(TextAnswer(404, "not found"));
      if (request.path.front() == "news") return later.push_back(reply);
      reply.Send(std::exchange(answer, TextAnswer(200, "x")));
    };
    server.emplace(loop, std::move(listening), serve, limits);
  }
  // Starts a server with room for four connections and without time limits.
  void ServeFour() {
    server.reset();
    UniqueFd listening = *ListenOn({"127.0.0.1", 0});
    port = BoundAddress(listening)->port;
    Serve(std::move(listening), {.max_connections = 4, .header = Duration(3'600'000)});
  }
  static int StatusSoon(RawBrowser& browser) {
    browser.Get("/page");
    return StatusOf(browser.Answers());
  }

  EventLoop loop;
  HttpAnswer answer = TextAnswer(200, "x");
  std::vector<HttpReply> later;
  std::optional<HttpServer> server;
  int port = 0;
};

TEST_F(HttpLimitsTest, AConnectionIsClosedIfItsRequestHeaderTakesLongerThanTheHeaderTimeout) {
  RawBrowser slow(loop, port);
  slow.Send("GET / HTTP/1.1\r\n");
  const auto drip = [&] {
    if (!slow.closed()) (void)::send(slow.fd(), "X: y\r\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT);
    slow.Look();
    return slow.closed();
  };
  const Instant began = loop.Now();
  EXPECT_TRUE(RunUntil(loop, drip));
  EXPECT_LT(loop.Now() - began, Duration(5000));
}

TEST_F(HttpLimitsTest, AConnectionThatSendsNothingIsClosed) {
  RawBrowser silent(loop, port);
  EXPECT_TRUE(silent.IsClosedSoon());
}

TEST_F(HttpLimitsTest, AConnectionStaysOpenAfterAResponseUntilTheIdleTimeout) {
  RawBrowser idle(loop, port);
  idle.Get("/");
  idle.Answers();
  const Instant began = loop.Now();
  EXPECT_TRUE(idle.IsClosedSoon());
  EXPECT_GE(loop.Now() - began, Duration(150));
}

TEST_F(HttpLimitsTest, AClientThatDoesNotReadItsResponseIsDisconnectedAndTheResponseIsFreed) {
  auto body = std::make_shared<const std::string>(64 << 20, 'x');
  answer.body = body;
  RawBrowser deaf(loop, port);
  deaf.Get("/");
  ASSERT_TRUE(RunUntil(loop, [&] { return answer.body != body; }));
  EXPECT_TRUE(RunUntil(loop, [&] { return server->connections() == 0; }));
  EXPECT_EQ(body.use_count(), 1);
}

TEST_F(HttpLimitsTest, ValidRequestsAreServedDespiteTwentySilentConnections) {
  ServeFour();
  RawBrowser known(loop, port), waits(loop, port);
  EXPECT_EQ(StatusSoon(known), 200);
  waits.Get("/news");
  ASSERT_TRUE(RunUntil(loop, [&] { return !later.empty(); }));
  std::list<RawBrowser> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(loop, port);
  ASSERT_TRUE(silent.front().IsClosedSoon());
  RawBrowser owner(loop, port);
  EXPECT_EQ(StatusSoon(owner), 200);
  EXPECT_EQ(StatusSoon(known), 200) << "it has shown before that it knows the address";
  later.front().Send(TextAnswer(200, "news"));
  EXPECT_EQ(StatusOf(waits.Answers()), 200);
}

TEST_F(HttpLimitsTest, ConnectionsThatReceivedOnly404DoNotBlockANewClient) {
  ServeFour();
  std::list<RawBrowser> guess;
  for (int i = 0; i < 4; ++i) {
    guess.emplace_back(loop, port).Get("/guess");
    EXPECT_EQ(StatusOf(guess.back().Answers()), 404);
  }
  RawBrowser owner(loop, port);
  EXPECT_EQ(StatusSoon(owner), 200);
}

TEST_F(HttpLimitsTest, TheOldestConnectionWithOnly404ResponsesIsClosedIfNoFileDescriptorIsFree) {
  ServeFour();
  std::list<RawBrowser> strangers;
  for (int i = 0; i < 3; ++i) {
    strangers.emplace_back(loop, port).Get("/guess");
    strangers.back().Answers();
  }
  RawBrowser owner(loop, port);
  const NoMoreFiles none;
  EXPECT_EQ(StatusSoon(owner), 200);
  EXPECT_TRUE(strangers.front().IsClosedSoon());
}

}  // namespace
}  // namespace tony
