// What a server does to those who are slow on purpose.
#include <gtest/gtest.h>

#include "runtime/page/http_server.h"
#include "tests/unit/page/raw_browser.h"

namespace tony {
namespace {

class HttpLimitsTest : public testing::Test {
 protected:
  HttpLimitsTest() {
    UniqueFd listening = *ListenOn({"127.0.0.1", 0});
    port = BoundAddress(listening)->port;
    const HttpLimits limits{.header = Duration(100), .idle = Duration(200), .stalled = Duration(100)};
    const auto serve = [this](const HttpRequest&, const HttpReply& reply) {
      reply.Send(std::exchange(answer, TextAnswer(200, "x")));
    };
    server.emplace(loop, std::move(listening), serve, limits);
  }

  EventLoop loop;
  HttpAnswer answer = TextAnswer(200, "x");
  std::optional<HttpServer> server;
  int port = 0;
};

TEST_F(HttpLimitsTest, AHeaderThatComesByteAfterByteIsNotWaitedForForEver) {
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

TEST_F(HttpLimitsTest, WhoSendsNothingIsClosed) {
  RawBrowser silent(loop, port);
  EXPECT_TRUE(silent.IsClosedSoon());
}

TEST_F(HttpLimitsTest, AnIdleConnectionIsClosedAfterItsLimitAndNotBefore) {
  RawBrowser idle(loop, port);
  idle.Get("/");
  idle.Answers();
  const Instant began = loop.Now();
  EXPECT_TRUE(idle.IsClosedSoon());
  EXPECT_GE(loop.Now() - began, Duration(150));
}

TEST_F(HttpLimitsTest, WhoDoesNotReadItsAnswerIsClosedAndTheAnswerFreed) {
  auto body = std::make_shared<const std::string>(64 << 20, 'x');
  answer.body = body;
  RawBrowser deaf(loop, port);
  deaf.Get("/");
  ASSERT_TRUE(RunUntil(loop, [&] { return answer.body != body; }));
  EXPECT_TRUE(RunUntil(loop, [&] { return server->connections() == 0; }));
  EXPECT_EQ(body.use_count(), 1);
}

}  // namespace
}  // namespace tony
