#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/net/http_client.h"
#include "tests/support/results.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// ---- the bytes of an answer

struct AnswerRow {
  const char* name;
  std::string bytes;
  // "200 body": the response. "more": bytes are missing, and a closed connection is an error. Otherwise: the error.
  std::string expected;
};

const AnswerRow kAnswers[] = {
    {"ABodyEndsAfterContentLengthBytes", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200 abc"},
    {"BytesAfterTheBodyAreIgnored", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", "200 abc"},
    {"HeaderNamesAreCaseInsensitive", "HTTP/1.0 404 Not Found\r\ncONTENT-lENGTH:3\r\n\r\nabc", "404 abc"},
    {"ABodyOfZeroBytesIsComplete", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 "},
    {"AnIncompleteBodyNeedsMoreBytes", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "more"},
    {"AnIncompleteHeaderNeedsMoreBytes", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r", "more"},
    {"AnEmptyAnswerNeedsMoreBytes", "", "more"},
    {"APartialStatusLineNeedsMoreBytes", "HTT", "more"},
    {"TextThatIsNotHttpIsRefusedAtOnce", "SSH-2.0-OpenSSH", "the answer is not HTTP"},
    {"AnHttp2StatusLineIsRefused", "HTTP/2 200\r\n\r\n", "the answer is not HTTP"},
    {"AStatusThatIsNotANumberIsRefused", "HTTP/1.1 xyz OK\r\n\r\n", "the answer is not HTTP"},
    {"AMissingStatusIsRefused", "HTTP/1.1\r\n\r\n", "the answer is not HTTP"},
    {"AStatusOf999IsRefused", "HTTP/1.1 999 OK\r\n\r\n", "the answer is not HTTP"},
    {"ANegativeContentLengthIsRefused", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "the answer is not HTTP"},
    {"ANonNumericContentLengthIsRefused", "HTTP/1.1 200 OK\r\nContent-Length: 3x\r\n\r\n", "the answer is not HTTP"},
    {"AContentLengthAbove65536IsRefused", "HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n",
     "the answer has more than 65536 bytes"},
    {"AnAnswerOfMoreThan65536BytesIsRefused", "HTTP/1.1 200 OK\r\nX: " + std::string(65'536, 'x'),
     "the answer has more than 65536 bytes"},
    {"ChunkedTransferEncodingIsRefused", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
     "the answer is in chunks"},
};

std::string Text(const Result<std::optional<HttpResponse>>& response) {
  if (!response.ok()) return response.error().message;
  return *response ? StrCat((*response)->status, " ", (*response)->body) : "more";
}

TABLE_TEST(HttpAnswerTest, kAnswers, [](const AnswerRow& row) {
  EXPECT_EQ(Text(HttpResponseIn(row.bytes, false)), row.expected);
  const bool is_cut = row.expected == "more";
  EXPECT_EQ(Text(HttpResponseIn(row.bytes, true)),
            is_cut ? "the server closed the connection without a complete answer" : row.expected);
});

TEST(HttpAnswerTest, ABodyWithoutContentLengthEndsWhenTheConnectionCloses) {
  const std::string bytes = "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nabc";
  EXPECT_EQ(Text(HttpResponseIn(bytes, false)), "more");
  EXPECT_EQ(Text(HttpResponseIn(bytes, true)), "200 abc");
  EXPECT_THAT((*HttpResponseIn(bytes, true))->headers, ElementsAre(Pair("server", "x")));
}

// ---- calls

class HttpGetTest : public testing::Test {
 protected:
  Result<HttpResponse> Get(const Endpoint& at, Duration limit = Duration(20'000)) {
    std::optional<Result<HttpResponse>> result;
    handle = GetByAddress(loop, {at}, "/a?op=X", limit, [&](Result<HttpResponse> response) {
      handle.reset();
      result = std::move(response);
    });
    EXPECT_FALSE(result.has_value()) << "told inside the call";
    EXPECT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
    return result ? *result : Error{ErrorCode::kInternal, "never answered"};
  }
  Endpoint Own() const { return {kLoopback, server.port()}; }

  EventLoop loop;
  ServedAnswer answer = Answered(200, "hello");
  ScriptedHttpServer server{loop, [this](const ServedRequest&) { return answer; }};
  std::unique_ptr<EventLoop::Handle> handle;
};

TEST_F(HttpGetTest, ARequestSendsItsTargetAndTheHostHeader) {
  EXPECT_EQ(Must(Get(Own())).body, "hello");
  ASSERT_EQ(server.requests().size(), 1u);
  EXPECT_EQ(server.requests()[0].method + " " + server.requests()[0].target, "GET /a?op=X");
  EXPECT_EQ(server.requests()[0].headers.at("host"), ToString(Own()));
}

TEST_F(HttpGetTest, AnAnswerThatArrivesByteByByteIsAssembled) {
  answer.piece = 1;
  EXPECT_EQ(Must(Get(Own())).body, "hello");
}

TEST_F(HttpGetTest, AnAnswerWithStatus403IsReturned) {
  answer = Answered(403, "no");
  EXPECT_EQ(Must(Get(Own())).status, 403);
}

TEST_F(HttpGetTest, AGetFailsWhenTheServerClosesTheConnectionAfterTheStatusLine) {
  answer = {"HTTP/1.1 200 OK\r\n", true};
  ExpectError(Get(Own()), ErrorCode::kUnavailable,
              StrCat("GET from ", ToString(Own()), ": the server closed the connection without a complete answer"));
}

TEST_F(HttpGetTest, AGetFromASilentServerFailsAfterTheTimeLimit) {
  answer = {""};
  ExpectError(Get(Own(), Duration(50)), ErrorCode::kUnavailable,
              StrCat("GET from ", ToString(Own()), ": no complete answer within 50 ms"));
}

TEST_F(HttpGetTest, AGetFailsWhenTheAnswerExceeds65536Bytes) {
  answer = {"HTTP/1.1 200 OK\r\n\r\n" + std::string(1 << 20, 'x')};
  ExpectError(Get(Own()), ErrorCode::kInvalid,
              StrCat("GET from ", ToString(Own()), ": the answer has more than 65536 bytes"));
}

TEST_F(HttpGetTest, AGetFromAPortWithoutAServerReturnsUnavailable) {
  const Endpoint nobody{kLoopback, BoundAddress(*ListenOn({kLoopback, 0}))->port};
  const auto response = Get(nobody);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("connection refused"));
}

TEST_F(HttpGetTest, AHostNameInsteadOfAnIpv4AddressIsRefused) {
  const auto response = Get({"localhost", 1});
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().message, HasSubstr("not an IPv4 address"));
}

TEST_F(HttpGetTest, DestroyingTheHandleCancelsTheCall) {
  answer = {""};
  handle = GetByAddress(loop, {Own()}, "/", Duration(20'000), [](const Result<HttpResponse>&) { FAIL(); });
  ASSERT_TRUE(RunUntil(loop, [&] { return server.requests().size() == 1; }));
  handle.reset();
  EXPECT_TRUE(RunUntil(loop, [&] { return server.open() == 0; }));
}

}  // namespace
}  // namespace tony
