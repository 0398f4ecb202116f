// What a browser asks for, and what it gets. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/sockets.h"

namespace tony {

struct HttpRequest {
  bool head = false;                         // HEAD: the headers of the answer alone
  std::vector<std::string> path;             // decoded: "/a/b%20c/" is {"a", "b c", ""}
  std::map<std::string, std::string> query;  // decoded; of a name that comes twice, the last
  std::string cookies;                       // "a=b; c=d", as they came; empty: none
};

// The value of the cookie, as it came. Empty: there is none.
std::string CookieOf(const HttpRequest& request, std::string_view name);

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::shared_ptr<const std::string> body;  // may be shared by many answers; null: empty
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpAnswer TextAnswer(int status, std::string text);
HttpAnswer NotFound();  // tells nothing: the same for a wrong token as for a page that is not there

// Of a request's target ("/a/b?c=d") the path and the query. Nothing: bad percent-encoding, a control character, or a
// component of the path that is ".", ".." or, decoded, has a "/".
std::optional<HttpRequest> ParseTarget(std::string_view target);

// Cuts HTTP/1.x requests out of the bytes of a connection. Boost.Beast's parser is behind it, in http_server.cc
// alone.

struct ReadRequest {
  int refusal = 0;  // not 0: the status to answer with; nothing more can be read from this connection
  bool keep_alive = false;
  HttpRequest request;
};

class RequestReader {
 public:
  static constexpr size_t kLongestHeader = 8 << 10;

  void Add(std::string_view bytes) { in_.append(bytes); }
  size_t buffered() const { return in_.size(); }
  // The next request, or refusal; nothing: bytes are missing. Only GET and HEAD without a body are requests.
  std::optional<ReadRequest> Next();

 private:
  std::string in_;
};

// One browser's connection: requests in, one after the other, answers out. Loop thread only.

struct HttpLimits {
  int max_connections = 512;
  Duration header{10'000};   // from the first byte of a request, or from the start, to the end of its header
  Duration idle{60'000};     // between requests
  Duration stalled{20'000};  // while an answer is sent: without a byte taken
};

class HttpConnection;

// The duty to answer one request, once, now or later. Dropped without an answer: the connection is closed. An answer to
// a browser that has gone is lost, silently. Cheap to copy.
class HttpReply {
 public:
  explicit HttpReply(const std::shared_ptr<HttpConnection>& connection);
  void Send(HttpAnswer answer) const;

 private:
  struct Open;
  std::shared_ptr<Open> open_;
};

using HttpHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// Kept by shared_ptr. Bounded: what is read ahead, the time of each step; an answer's body is not copied.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  struct Context {  // outlives the connection
    EventLoop& loop;
    const HttpLimits& limits;
    const HttpHandler& handler;
  };
  // `on_closed`, once, never inside a call of ours, may drop the last reference.
  HttpConnection(const Context& context, UniqueFd socket, std::function<void()> on_closed);
  void Begin();
  void Finish();  // closes as soon as the answers already given are sent; a request without one is not answered
  void Abort();
  // No request of it was answered with what it asked for, and none waits for its answer.
  bool IsStranger() const { return !served_ && (state_ == State::kReading || state_ == State::kSending); }

 private:
  friend class HttpReply;
  enum class State { kReading, kAnswering, kSending, kClosed };

  void WatchInput();
  void OnReadable();
  void ServeNext();
  void Send(HttpAnswer answer);
  void Flush();
  bool FlushSome();
  void Sent();
  void LimitTo(Duration limit);

  Context context_;
  UniqueFd socket_;
  std::function<void()> on_closed_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool served_ = false;
  bool last_ = false;  // the connection ends with the answer
  bool head_ = false;
  std::string header_;
  std::shared_ptr<const std::string> body_;
  size_t sent_ = 0;  // of header and body together
  EventLoop::Timer limit_, next_;
  EventLoop::FdWatch readable_;  // after socket_: released before it closes
  EventLoop::FdWatch writable_;
};

// A small HTTP/1.1 server for pages that are only looked at: GET and HEAD, no bodies, everything bounded. Garbage
// closes that connection and nothing else. Where there are as many connections as may be, a new one takes the place of
// the oldest stranger, so nobody who does not know the page's address shuts out those who do. Loop thread only.

class HttpServer {
 public:
  // Whether a connection from this address is served at all; the others are closed before anything is read.
  using Admits = std::function<bool(const std::string& address)>;

  // `listening` is a listening socket. The server answers until it is destroyed, which closes all connections.
  HttpServer(EventLoop& loop, UniqueFd listening, HttpHandler handler, const HttpLimits& limits = {},
             Admits admits = nullptr);
  ~HttpServer();

  size_t connections() const { return connections_.size(); }
  // Closes the listener and, when the answers already given are sent, the connections; `done` is called then, or after
  // a quarter of a second.
  void Stop(std::function<void()> done);

 private:
  void Add(UniqueFd socket);
  bool CloseOldestStranger();  // false: there is none
  void Remove(uint64_t key);

  EventLoop& loop_;
  const HttpLimits limits_;
  const HttpHandler handler_;
  const Admits admits_;  // empty: all are
  uint64_t last_key_ = 0;
  std::map<uint64_t, std::shared_ptr<HttpConnection>> connections_;  // the oldest first
  std::function<void()> stopped_;
  EventLoop::Timer stopping_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony
