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
  RunningGet(EventLoop& loop, const HttpServerAddress& server, const std::string& target, Duration limit,
             std::function<void(Result<HttpResponse>)> done)
      : loop_(loop), host_(server.host.empty() ? ToString(server.at) : server.host), done_(std::move(done)) {
    out_ = StrCat("GET ", target, " HTTP/1.0\r\nHost: ", host_, "\r\nAccept: application/json\r\n\r\n");
    limit_ = loop_.After(limit,
                         [this, limit] { End(UnavailableError("no complete answer within ", limit.count(), " ms")); });
    const Status begun = Begin(server);
    if (!begun.ok()) limit_ = loop_.After(Duration(0), [this, error = begun.error()] { End(error); });
  }

 private:
  Status Begin(const HttpServerAddress& server) {
    TRY_ASSIGN(UniqueFd socket, StartConnect(server.at));
    TRY_ASSIGN(channel_, server.channel(std::move(socket)));
    Await(Channel::Step::Kind::kWaitsToWrite);
    return Ok();
  }

  void Await(Channel::Step::Kind what) {
    readable_.reset();
    writable_.reset();
    if (what == Channel::Step::Kind::kWaitsToRead)
      readable_ = loop_.WhenReadable(channel_->socket(), [this] { Continue(); });
    else
      writable_ = loop_.WhenWritable(channel_->socket(), [this] { Continue(); });
  }

  // Moves bytes until the channel has to wait. A TLS channel may wait to read before it writes.
  void Continue() {
    while (true) {
      std::array<char, kPiece> chunk;
      const bool writes = !out_.empty();
      const Channel::Step step = writes ? channel_->Write(out_) : channel_->Read(chunk.data(), chunk.size());
      const bool is_end = step.kind == Channel::Step::Kind::kEnded;
      if (is_end && writes) return End(step.why);
      if (!is_end && step.kind != Channel::Step::Kind::kMoved) return Await(step.kind);
      if (writes) {
        out_.erase(0, step.bytes);
        continue;
      }
      in_.append(chunk.data(), step.bytes);
      auto response = HttpResponseIn(in_, is_end);
      if (!response.ok()) return End(response.error());
      if (*response) return End(**std::move(response));
    }
  }

  // Must be the last step of a callback, because `done_` may destroy this object.
  void End(Result<HttpResponse> result) {
    readable_.reset();
    writable_.reset();
    limit_.reset();
    if (!result.ok())
      result = Error{result.error().code, StrCat("GET from ", host_, ": ", result.error().message)};
    const auto done = std::move(done_);
    done(std::move(result));
  }

  EventLoop& loop_;
  const std::string host_;
  std::function<void(Result<HttpResponse>)> done_;
  std::string out_, in_;
  EventLoop::Timer limit_;
  std::unique_ptr<Channel> channel_;
  EventLoop::FdWatch readable_, writable_;  // declared after channel_: destroyed first
};

}  // namespace

std::unique_ptr<EventLoop::Handle> GetByAddress(EventLoop& loop, const HttpServerAddress& server,
                                                const std::string& target, Duration limit,
                                                std::function<void(Result<HttpResponse>)> done) {
  return std::make_unique<RunningGet>(loop, server, target, limit, std::move(done));
}

}  // namespace tony
