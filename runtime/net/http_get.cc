#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/http_client.h"
#include "runtime/net/sockets.h"

namespace tony {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

Error NotHttp() { return InvalidError("the answer is not HTTP"); }
Error TooLong() { return InvalidError("the answer has more than ", kMostOfGet, " bytes"); }

// Reads the status from "HTTP/1.1 200 OK".
std::optional<int> StatusIn(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const auto status = ParseInt(Trim(line.substr(space)).substr(0, 3));
  if (!status || *status < 100 || *status > 599) return std::nullopt;
  return static_cast<int>(*status);
}

// Reads the lines before the body. nullopt: they are not the head of a response.
std::optional<HttpResponse> HeadIn(std::string_view head) {
  HttpResponse response;
  const auto status = StatusIn(head.substr(0, head.find(kLineEnd)));
  if (!status) return std::nullopt;
  response.status = *status;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find(kLineEnd));
    head.remove_prefix(std::min(line.size() + kLineEnd.size(), head.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    response.headers.emplace_back(ToLower(Trim(line.substr(0, colon))), Trim(line.substr(colon + 1)));
  }
  return response;
}

std::optional<std::string> HeaderIn(const HttpResponse& response, std::string_view name) {
  for (const auto& [other, value] : response.headers)
    if (other == name) return value;
  return std::nullopt;
}

}  // namespace

Result<std::optional<HttpResponse>> HttpResponseIn(std::string_view bytes, bool is_all) {
  constexpr std::string_view kBegin = "HTTP/1.", kEnd = "\r\n\r\n";
  if (bytes.size() > kMostOfGet) return TooLong();
  const size_t begun = std::min(bytes.size(), kBegin.size());
  if (bytes.substr(0, begun) != kBegin.substr(0, begun)) return NotHttp();
  const size_t end = bytes.find(kEnd);
  bool is_whole = false;
  std::optional<HttpResponse> response;
  if (end != std::string_view::npos) {
    response = HeadIn(bytes.substr(0, end));
    if (!response) return NotHttp();
    if (HeaderIn(*response, "transfer-encoding")) return InvalidError("the answer is in chunks");
    const auto text = HeaderIn(*response, "content-length");
    const auto length = text ? ParseInt(*text) : std::nullopt;
    if (text && (!length || *length < 0)) return NotHttp();
    if (length.value_or(0) > static_cast<int64_t>(kMostOfGet)) return TooLong();
    response->body = bytes.substr(end + kEnd.size());
    is_whole = length ? response->body.size() >= static_cast<size_t>(*length) : is_all;
    if (length && is_whole) response->body.resize(static_cast<size_t>(*length));
  }
  if (is_whole) return response;
  if (is_all) return UnavailableError("the server closed the connection without a complete answer");
  return std::optional<HttpResponse>();
}

namespace {

constexpr size_t kPiece = 8 << 10;

// Runs one GET request: connects, writes the request, and reads the answer. An error at any of these points ends it.
class RunningGet : public EventLoop::Handle {
 public:
  RunningGet(EventLoop& loop, const Endpoint& server, const std::string& target, Duration limit,
             std::function<void(Result<HttpResponse>)> done)
      : loop_(loop), server_(server), done_(std::move(done)) {
    out_ = StrCat("GET ", target, " HTTP/1.0\r\nHost: ", ToString(server), "\r\nAccept: application/json\r\n\r\n");
    limit_ = loop_.After(limit,
                         [this, limit] { End(UnavailableError("no complete answer within ", limit.count(), " ms")); });
    auto socket = StartConnect(server);
    if (!socket.ok()) {
      limit_ = loop_.After(Duration(0), [this, error = socket.error()] { End(error); });
      return;
    }
    channel_ = MakePlainChannel(*std::move(socket));
    writable_ = loop_.WhenWritable(channel_->socket(), [this] { Write(); });
  }

 private:
  void Write() {
    const Channel::Step step = channel_->Write(out_);
    if (step.kind == Channel::Step::Kind::kEnded) return End(step.why);
    out_.erase(0, step.bytes);
    if (!out_.empty()) return;
    readable_ = loop_.WhenReadable(channel_->socket(), [this] { Read(); });
    writable_.reset();
  }

  void Read() {
    std::array<char, kPiece> chunk;
    const Channel::Step step = channel_->Read(chunk.data(), chunk.size());
    if (step.kind == Channel::Step::Kind::kWaitsToRead) return;
    in_.append(chunk.data(), step.bytes);
    auto response = HttpResponseIn(in_, step.kind == Channel::Step::Kind::kEnded);
    if (!response.ok()) return End(response.error());
    if (*response) End(**std::move(response));
  }

  // Must be the last step of a callback, because `done_` may destroy this object.
  void End(Result<HttpResponse> result) {
    readable_.reset();
    writable_.reset();
    limit_.reset();
    if (!result.ok())
      result = Error{result.error().code, StrCat("GET from ", ToString(server_), ": ", result.error().message)};
    const auto done = std::move(done_);
    done(std::move(result));
  }

  EventLoop& loop_;
  const Endpoint server_;
  std::function<void(Result<HttpResponse>)> done_;
  std::string out_, in_;
  EventLoop::Timer limit_;
  std::unique_ptr<Channel> channel_;
  EventLoop::FdWatch readable_, writable_;  // declared after channel_: destroyed first
};

}  // namespace

std::unique_ptr<EventLoop::Handle> GetByAddress(EventLoop& loop, const Endpoint& server, const std::string& target,
                                                Duration limit, std::function<void(Result<HttpResponse>)> done) {
  return std::make_unique<RunningGet>(loop, server, target, limit, std::move(done));
}

}  // namespace tony
