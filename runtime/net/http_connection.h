// One browser's connection: requests in, one after the other, answers out. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/http_request.h"
#include "runtime/net/request_reader.h"

namespace tony {

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

}  // namespace tony
