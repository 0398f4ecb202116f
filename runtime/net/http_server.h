// A small HTTP server, and the types of its requests and answers.
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
#include "runtime/net/frame_connection.h"
#include "runtime/net/sockets.h"

namespace tony {

enum class HttpMethod { kGet, kHead, kPost, kPut, kDelete };

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  // The decoded path: "/a/b%20c/" is {"a", "b c", ""}.
  std::vector<std::string> path;
  // The decoded query. If a name occurs twice, the last value counts.
  std::map<std::string, std::string> query;
  // The Cookie header as received: "a=b; c=d"; empty if the request has none.
  std::string cookies;
  // The headers by their names in lower case. If a name occurs twice, its values are joined by ", ".
  std::map<std::string, std::string> headers;
  // The body of a PUT or POST.
  std::string body;
};

// Returns the value of the cookie as received; empty if the request does not contain it.
std::string CookieOf(const HttpRequest& request, std::string_view name);

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  // Many answers may share a body. null: the body is empty.
  std::shared_ptr<const std::string> body;
  std::vector<std::pair<std::string, std::string>> headers;
};

HttpAnswer TextAnswer(int status, std::string text);
// Returns the answer for a page that does not exist. A wrong token gets the same answer, so the answer does not show
// whether the page exists.
HttpAnswer NotFound();

// Splits the target of a request ("/a/b?c=d") into path and query. nullopt: bad percent-encoding, a control character,
// or a component of the path that is ".", "..", or contains "/" after decoding.
std::optional<HttpRequest> ParseTarget(std::string_view target);

// A request that was read from a connection, or the reason to refuse it.

struct ReadRequest {
  // 0 for a good request, otherwise the status to answer with. After a refusal nothing more can be read from the
  // connection.
  int refusal = 0;
  bool keep_alive = false;
  HttpRequest request;
};

// Cuts HTTP/1.x requests out of the bytes of a connection. Only http_server.cc uses Boost.Beast's parser.
class RequestReader {
 public:
  static constexpr size_t kLongestHeader = 8 << 10;

  // With a `longest_body` above 0, POST, PUT and DELETE are accepted, and bodies of at most so many bytes. Otherwise only
  // GET and HEAD without a body are accepted.
  explicit RequestReader(size_t longest_body = 0) : longest_body_(longest_body) {}

  void Add(std::string_view bytes) { in_.append(bytes); }
  size_t buffered() const { return in_.size(); }
  // Returns the next request or refusal; nullopt: bytes are missing.
  std::optional<ReadRequest> Next();

 private:
  const size_t longest_body_;
  std::string in_;
};

// The limits of the server and of each of its connections.

struct HttpLimits {
  int max_connections = 512;
  // The limit from the first byte of a request, or from the start of the connection, to the end of the request's
  // header.
  Duration header{10'000};
  Duration idle{60'000};  // limit between two requests
  // The time limit while the browser takes no byte of an answer.
  Duration stalled{20'000};
  // The longest body of a request, in bytes. 0: only GET and HEAD are served.
  size_t body = 0;
};

class HttpConnection;

// An HttpReply answers one request once, now or later. If all copies of it are destroyed without an answer, the
// connection is closed. An answer to a browser that has disconnected is dropped. Cheap to copy.
class HttpReply {
 public:
  explicit HttpReply(const std::shared_ptr<HttpConnection>& connection);
  void Send(HttpAnswer answer) const;

 private:
  struct Open;
  std::shared_ptr<Open> open_;
};

using HttpHandler = std::function<void(const HttpRequest& request, HttpReply reply)>;

// The connection of a browser. Its requests are answered one after the other. Held by shared_ptr. Loop thread only. The
// bytes read ahead and the time of each step are limited. An answer's body is not copied.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  struct Context {  // must outlive the connection
    EventLoop& loop;
    const HttpLimits& limits;
    const HttpHandler& handler;
  };
  // `on_closed` is called once, never inside a method of the connection. It may drop the last reference to the
  // connection.
  HttpConnection(const Context& context, std::unique_ptr<Channel> channel, std::function<void()> on_closed);
  void Begin();
  // Closes the connection as soon as the answers already given are sent. All other requests remain unanswered.
  void Finish();
  void Abort();
  // Returns whether this connection is a stranger: none of its requests was answered with success, and none is waiting
  // for an answer.
  bool IsStranger() const { return !served_ && (state_ == State::kReading || state_ == State::kSending); }

 private:
  friend class HttpReply;
  enum class State { kReading, kAnswering, kSending, kClosed };

  void WatchInput();
  void OnReadable();
  void WatchHandshake();
  void ServeNext();
  void Send(HttpAnswer answer);
  void Flush();
  bool FlushSome();
  void Sent();
  void LimitTo(Duration limit);

  Context context_;
  std::unique_ptr<Channel> channel_;  // null: closed
  std::function<void()> on_closed_;
  RequestReader reader_;
  State state_ = State::kReading;
  bool served_ = false;
  bool last_ = false;  // the connection ends after this answer
  bool head_ = false;
  // The header, and a copy of the first bytes of the body, because one packet is faster than two.
  std::string begin_;
  std::shared_ptr<const std::string> body_;
  size_t copied_ = 0;  // bytes of the body in begin_
  size_t sent_ = 0;    // sent bytes of header and body
  EventLoop::Timer limit_, next_;
  EventLoop::FdWatch readable_;  // declared after channel_: destroyed first
  EventLoop::FdWatch writable_;
};

// A small HTTP/1.1 server. It serves GET and HEAD without bodies, and more if HttpLimits::body allows it. All sizes and
// times are limited. Bad input closes only its own connection. When the maximum of connections is reached, a new one replaces the
// oldest stranger (a connection without a successful answer). Therefore users without the page's address cannot shut
// out users who have it. Loop thread only.
class HttpServer {
 public:
  // Returns whether connections from this address are served. Other connections are closed before anything is read.
  using Admits = std::function<bool(const std::string& address)>;

  // `listening` is a listening socket. The server answers until it is destroyed, which closes all connections.
  // With `tls`, it speaks HTTPS.
  HttpServer(EventLoop& loop, UniqueFd listening, HttpHandler handler, const HttpLimits& limits = {},
             Admits admits = nullptr, MakeChannel tls = nullptr);
  ~HttpServer();

  size_t connections() const { return connections_.size(); }
  // Closes the listener, and each connection when the answers already given are sent. Calls `done` when all connections
  // are closed, or after a quarter of a second.
  void Stop(std::function<void()> done);

 private:
  void Add(UniqueFd socket);
  bool CloseOldestStranger();  // false: no stranger is connected
  void Remove(uint64_t key);

  EventLoop& loop_;
  const HttpLimits limits_;
  const HttpHandler handler_;
  const Admits admits_;    // empty: all addresses are served
  const MakeChannel tls_;  // empty: plain HTTP
  uint64_t last_key_ = 0;
  std::map<uint64_t, std::shared_ptr<HttpConnection>> connections_;  // oldest first
  std::function<void()> stopped_;
  EventLoop::Timer stopping_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony
