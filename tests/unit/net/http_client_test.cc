#include "runtime/net/http_client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>

#include "tests/support/no_more_files.h"
#include "tests/support/run_until.h"
#include "tests/support/scripted_http_server.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class HttpClientTest : public testing::Test {
 protected:
  ServedAnswer Answer(const ServedRequest& request) {
    return next ? next(request) : Answered(200, request.method + " " + request.target + " " + request.body);
  }
  HttpCall Call(std::string method, std::string_view target, std::string body = "") {
    HttpCall call;
    call.method = std::move(method);
    call.url = server.Url(target);
    call.body = std::move(body);
    return call;
  }
  Result<HttpResponse> Run(HttpCall call) {
    std::optional<Result<HttpResponse>> result;
    const auto handle = client.Send(std::move(call), [&](Result<HttpResponse> r) { result = std::move(r); });
    EXPECT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
    return result ? *result : Error{ErrorCode::kInternal, "never answered"};
  }
  Error Failure(HttpCall call) {
    const auto result = Run(std::move(call));
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error{} : result.error();
  }
  std::string Failed(std::string_view what) const { return StrCat("GET ", server.Url("/a"), ": ", what); }

  EventLoop loop;
  std::function<ServedAnswer(const ServedRequest&)> next;
  ScriptedHttpServer server{loop, [this](const ServedRequest& request) { return Answer(request); }};
  HttpClient client{loop};
};

TEST_F(HttpClientTest, EachMethodArrivesWithItsBodyAndHeaders) {
  for (const char* method : {"GET", "PUT", "POST", "DELETE"}) {
    const bool has_body = std::string(method).starts_with('P');
    HttpCall call = Call(method, "/a%20b?op=X&y=%26", has_body ? "some bytes" : "");
    call.headers = {{"X-One", "1"}, {"Content-Type", "application/octet-stream"}};
    const auto response = Run(std::move(call));
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, StrCat(method, " /a%20b?op=X&y=%26 ", has_body ? "some bytes" : ""));
    EXPECT_EQ(server.requests().back().headers.at("x-one"), "1");
    EXPECT_EQ(server.requests().back().headers.at("content-type"), "application/octet-stream");
  }
}

TEST_F(HttpClientTest, APutWithoutABodyHasContentLengthZero) {
  ASSERT_TRUE(Run(Call("PUT", "/a")).ok());
  EXPECT_EQ(server.requests()[0].headers.at("content-length"), "0");
}

TEST_F(HttpClientTest, AHeadRequestReturnsHeadersOnly) {
  next = [](const ServedRequest&) { return ServedAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"}; };
  const auto response = Run(Call("HEAD", "/a"));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(HeaderOf(*response, "content-length"), "77");
  EXPECT_EQ(response->body, "");
}

TEST_F(HttpClientTest, ABodyOfArbitraryBytesArrivesUnchanged) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes.push_back(static_cast<char>(i * 7));
  const auto response = Run(Call("PUT", "/a", bytes));
  ASSERT_TRUE(response.ok());
  EXPECT_TRUE(server.requests()[0].body == bytes);
}

TEST_F(HttpClientTest, AnAnswerIsReturnedForAnyHttpStatusAndRedirectsAreNotFollowed) {
  for (const int status : {201, 307, 404, 503}) {
    next = [&](const ServedRequest&) { return Answered(status, "why", "Location: http://elsewhere/\r\n"); };
    const auto response = Run(Call("PUT", "/a", "body"));
    ASSERT_TRUE(response.ok());
    EXPECT_EQ(response->status, status);
    EXPECT_EQ(response->body, "why");
    EXPECT_EQ(HeaderOf(*response, "location"), "http://elsewhere/");  // the redirect is not followed
  }
  EXPECT_EQ(server.requests().size(), 4u);
}

TEST_F(HttpClientTest, SuccessiveCallsShareOneConnection) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Run(Call(i % 2 ? "PUT" : "GET", "/a", "")).ok());
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpClientTest, ThirtyCallsSentAtOnceAreAllAnswered) {
  std::vector<std::unique_ptr<EventLoop::Handle>> handles;
  int answered = 0;
  for (int i = 0; i < 30; ++i) {
    handles.push_back(client.Send(Call("GET", StrCat("/", i)), [&, i](Result<HttpResponse> response) {
      EXPECT_EQ(response->body, StrCat("GET /", i, " "));
      ++answered;
    }));
  }
  EXPECT_EQ(answered, 0);  // no callback runs inside Send()
  EXPECT_TRUE(RunUntil(loop, [&] { return answered == 30; }));
}

TEST_F(HttpClientTest, HttpSocketsAreCloseOnExec) {
  const auto sockets_to_server = [&] {
    std::vector<int> flags;
    for (int fd = 3; fd < 200; ++fd) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || ntohs(peer.sin_port) != server.port())
        continue;
      flags.push_back(::fcntl(fd, F_GETFD));
    }
    return flags;
  };
  ASSERT_TRUE(Run(Call("GET", "/a")).ok());
  EXPECT_THAT(sockets_to_server(), ElementsAre(FD_CLOEXEC));
}

TEST_F(HttpClientTest, ACancelledCallIsNeverAnsweredAndItsConnectionIsClosed) {
  next = [](const ServedRequest&) { return ServedAnswer{}; };
  bool answered = false;
  auto handle = client.Send(Call("GET", "/a"), [&](const Result<HttpResponse>&) { answered = true; });
  ASSERT_TRUE(RunUntil(loop, [&] { return server.requests().size() == 1; }));
  handle.reset();
  EXPECT_TRUE(RunUntil(loop, [&] { return server.open() == 0; }));
  EXPECT_FALSE(answered);
}

TEST_F(HttpClientTest, ACallCancelledImmediatelyAfterSendIsNeverAnswered) {
  bool answered = false;
  client.Send(Call("GET", "/a"), [&](const Result<HttpResponse>&) { answered = true; }).reset();
  EXPECT_TRUE(Run(Call("GET", "/b")).ok());
  EXPECT_FALSE(answered);
}

TEST_F(HttpClientTest, AnAnswerCallbackCanDestroyItsHandleAndSendTheNextCall) {
  std::unique_ptr<EventLoop::Handle> handle;
  int answered = 0;
  std::function<void(Result<HttpResponse>)> again = [&](const Result<HttpResponse>&) {
    if (++answered < 3) handle = client.Send(Call("GET", "/a"), again);
  };
  handle = client.Send(Call("GET", "/a"), again);
  EXPECT_TRUE(RunUntil(loop, [&] { return answered == 3; }));
}

TEST_F(HttpClientTest, AConnectionErrorNamesTheServerUrlWithoutTheQueryString) {
  HttpCall call = Call("PUT", "/a");
  call.url = "http://127.0.0.1:1/x/y?delegation=secret";
  const Error error = Failure(std::move(call));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, "PUT http://127.0.0.1:1/x/y: connect: connection refused");
}

TEST_F(HttpClientTest, AHostNameThatDoesNotResolveIsReportedWithTheUrl) {
  HttpCall call = Call("GET", "/a");
  call.url = "http://no-such-host.invalid/x";
  EXPECT_EQ(Failure(std::move(call)).message, "GET http://no-such-host.invalid/x: the host's name does not resolve");
}

TEST_F(HttpClientTest, MalformedAndNonHttpUrlsAreRefused) {
  for (const char* url : {"", "http://", "file:///etc/passwd", "gopher://127.0.0.1/", "http://a b/"}) {
    HttpCall call;
    call.url = url;
    EXPECT_EQ(Failure(std::move(call)).code, ErrorCode::kInvalid) << url;
  }
}

TEST_F(HttpClientTest, ACallToASilentServerTimesOut) {
  next = [](const ServedRequest&) { return ServedAnswer{}; };
  HttpCall call = Call("GET", "/a");
  call.limits.whole = Duration(20);
  const Error error = Failure(std::move(call));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(error.message, Failed("no complete answer within 20 ms"));
}

TEST_F(HttpClientTest, ACallFailsAfterTheStallLimitWhenTheServerStopsInTheMiddleOfAnAnswer) {
  next = [](const ServedRequest&) { return ServedAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"}; };
  HttpCall call = Call("GET", "/a");
  call.limits.stalled = Duration(20);
  EXPECT_EQ(Failure(std::move(call)).message, Failed("no byte was transferred in 20 ms"));
}

TEST_F(HttpClientTest, ACallFailsAfterTheStallLimitWhenTheServerDoesNotReadTheBody) {
  server.ReadNoBody();
  HttpCall call = Call("PUT", "/a", std::string(900'000, 'x'));
  call.limits.stalled = Duration(20);
  EXPECT_THAT(Failure(std::move(call)).message, HasSubstr("no byte was transferred in 20 ms"));
}

TEST_F(HttpClientTest, ACallMayExceedTheStallLimitWhileBytesKeepArriving) {
  next = [](const ServedRequest&) {
    ServedAnswer answer = Answered(200, std::string(6000, 'x'));
    answer.piece = 10;
    return answer;
  };
  HttpCall call = Call("GET", "/a");
  call.limits.stalled = Duration(400);  // shorter than the whole answer
  const auto response = Run(std::move(call));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body.size(), 6000u);
}

TEST_F(HttpClientTest, ACallToAHostThatNeverAcceptsTheConnectionTimesOut) {
  // The queue is full, so the kernel drops further connections.
  UniqueFd full(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(full.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(::listen(full.get(), 0), 0);
  const Endpoint address = *BoundAddress(full);
  std::vector<UniqueFd> fillers;
  for (int i = 0; i < 3; ++i) fillers.push_back(*StartConnect(address));
  HttpCall call = Call("GET", "/a");
  call.url = StrCat("http://", ToString(address), "/");
  call.limits.connect = Duration(30);
  EXPECT_THAT(Failure(std::move(call)).message, HasSubstr("no connection within 30 ms"));
}

TEST_F(HttpClientTest, ATruncatedAnswerFailsAsUnavailable) {
  for (const char* part : {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Le",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf"}) {
    next = [&](const ServedRequest&) { return ServedAnswer{part, true}; };
    EXPECT_EQ(Failure(Call("GET", "/a")).code, ErrorCode::kUnavailable) << part;
  }
}

TEST_F(HttpClientTest, ACallFailsWhenTheServerClosesTheConnectionWithoutAnAnswer) {
  next = [](const ServedRequest&) { return ServedAnswer{"", true}; };
  EXPECT_EQ(Failure(Call("GET", "/a")).message, Failed("the server closed the connection without an answer"));
}

TEST_F(HttpClientTest, AnAnswerThatIsNotHttpFailsAsUnavailable) {
  next = [](const ServedRequest&) { return ServedAnswer{"\x16\x03\x01\x02 hello\r\n\r\n", true}; };
  EXPECT_EQ(Failure(Call("GET", "/a")).code, ErrorCode::kUnavailable);
}

TEST_F(HttpClientTest, APutIsNotRetriedWhenAReusedConnectionClosesWithoutAnAnswer) {
  next = [&](const ServedRequest& request) {
    return request.target == "/first" ? Answered(200, "") : ServedAnswer{"", true};
  };
  ASSERT_TRUE(Run(Call("PUT", "/first")).ok());
  EXPECT_THAT(Failure(Call("PUT", "/second")).message,
              HasSubstr("/second: the server closed the connection without an answer"));
  EXPECT_EQ(server.requests().size(), 2u);
}

TEST_F(HttpClientTest, AConnectionThatTheServerHasClosedIsNotReused) {
  next = [&](const ServedRequest&) {
    ServedAnswer answer = Answered(200, "");
    answer.close = true;
    return answer;
  };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Run(Call("PUT", "/a", "body")).ok());
    ASSERT_TRUE(RunUntil(loop, [&] { return server.open() == 0; }));
  }
  EXPECT_EQ(server.accepted(), 3);
}

TEST_F(HttpClientTest, AnAnswerLargerThanTheAnswerLimitIsRefused) {
  next = [](const ServedRequest&) { return Answered(200, std::string(2000, 'x')); };
  HttpCall call = Call("GET", "/a");
  call.limits.answer = 1999;
  const Error error = Failure(call);
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_EQ(error.message, Failed("the answer has more than 1999 bytes"));
  call.limits.answer = 2000;
  EXPECT_TRUE(Run(call).ok());
}

TEST_F(HttpClientTest, AnAnswerWith5000HeadersIsRefused) {
  next = [](const ServedRequest&) {
    std::string headers;
    for (int i = 0; i < 5000; ++i) headers += "X-Another: and another one\r\n";
    return Answered(200, "", headers);
  };
  EXPECT_EQ(Failure(Call("GET", "/a")).code, ErrorCode::kInvalid);
}

class HttpFileTest : public HttpClientTest {
 protected:
  UniqueFd Open(const std::string& name, const std::string& content = "") {
    UniqueFd fd(::open((folder.path() / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::write(fd.get(), content.data(), content.size()), static_cast<ssize_t>(content.size()));
    return fd;
  }
  std::string Read(const UniqueFd& fd) {
    std::string content(20 << 20, '\0');
    content.resize(static_cast<size_t>(::pread(fd.get(), content.data(), content.size(), 0)));
    return content;
  }
  TempFolder folder;
};

TEST_F(HttpFileTest, APartOfAFileIsUploadedWithProgressReports) {
  std::string content;
  for (int i = 0; i < (1 << 20); ++i) content.push_back(static_cast<char>(i >> 8));
  const UniqueFd file = Open("big", content);
  HttpCall call = Call("PUT", "/a");
  call.body_file = FilePart{file.get(), 10, (1 << 20) - 20};
  std::vector<int64_t> moved;
  call.on_moved = [&](int64_t bytes) { moved.push_back(bytes); };
  next = [](const ServedRequest&) { return Answered(201, ""); };
  const auto response = Run(std::move(call));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_TRUE(server.requests()[0].body == content.substr(10, (1 << 20) - 20));
  EXPECT_TRUE(std::is_sorted(moved.begin(), moved.end()));
  if (!moved.empty()) {
    EXPECT_LE(moved.back(), (1 << 20) - 20);
  }
}

TEST_F(HttpFileTest, AnUploadFailsWhenTheFileIsShorterThanDeclared) {
  const UniqueFd file = Open("short", std::string(1000, 'x'));
  HttpCall call = Call("PUT", "/a");
  call.body_file = FilePart{file.get(), 0, 1001};
  const Error error = Failure(std::move(call));
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_THAT(error.message, HasSubstr("the file to send ends after 1000 of 1001 bytes"));
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(HttpFileTest, AnUploadFailsWhenTheServerClosesTheConnectionHalfway) {
  server.CutBodiesAfter(100'000);
  const UniqueFd file = Open("big", std::string(4 << 20, 'x'));
  HttpCall call = Call("PUT", "/a");
  call.body_file = FilePart{file.get(), 0, 4 << 20};
  EXPECT_EQ(Failure(std::move(call)).code, ErrorCode::kUnavailable);
}

TEST_F(HttpFileTest, AProgressCallbackCanCancelAnUpload) {
  std::unique_ptr<EventLoop::Handle> handle;
  server.ReadNoBody();
  const UniqueFd file = Open("big", std::string(64 << 20, 'x'));
  HttpCall call = Call("PUT", "/a");
  call.body_file = FilePart{file.get(), 0, 64 << 20};
  call.on_moved = [&](int64_t) { handle.reset(); };
  handle = client.Send(std::move(call), [](const Result<HttpResponse>&) { ADD_FAILURE() << "cancelled"; });
  EXPECT_TRUE(RunUntil(loop, [&] { return handle == nullptr; }));
}

TEST_F(HttpClientTest, ACallFailsWithoutFreeFileDescriptorsAndALaterCallSucceeds) {
  ASSERT_TRUE(Run(Call("GET", "/a")).ok());
  std::optional<Result<HttpResponse>> result;
  {
    HttpCall call = Call("GET", "/a");
    call.url = "http://127.0.0.2:1/";
    const NoMoreFiles none;
    const auto handle = client.Send(std::move(call), [&](Result<HttpResponse> r) { result = std::move(r); });
    ASSERT_TRUE(RunUntil(loop, [&] { return result.has_value(); }));
  }
  EXPECT_EQ(result->error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(Run(Call("GET", "/a")).ok());
}

TEST_F(HttpClientTest, TheHttpProxyEnvironmentVariableIsIgnored) {
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(Run(Call("GET", "/a")).ok());
  ::unsetenv("http_proxy");
}

}  // namespace
}  // namespace tony
