// Calls to HTTP servers from the event loop, by libcurl, which is behind this header.
//
//   Send() -> connecting -> sending -> answered | failed | a limit passed  -> done(Result), once
//        \____________________________ handle destroyed _______________________ no done
//
// Loop thread only. A call belongs to who holds its handle; destroying that cancels the call: its connection is closed,
// and the server may have done the work or not. All handles are gone before the client is.
// Connections are kept and used again. A call other than GET and HEAD reaches the server at most once: libcurl would
// repeat one whose kept connection turns out to be closed, and is kept from that. Redirects are answers like others.
// The environment's proxy variables have no effect, as they have none in Hadoop's clients.
// Errors: kUnavailable (no connection, no whole answer, a limit; the work may be done all the same), kInvalid (the URL;
// an answer above its bounds; a file to send that is too short), kCannotWrite (the answer's file). Any answer that is
// whole is no error, whatever its status.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/net/http_call.h"

namespace tony {

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  explicit HttpClient(EventLoop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // `done` may destroy the handle and start further calls.
  [[nodiscard]] std::unique_ptr<EventLoop::Handle> Send(HttpCall call, Done done);

 private:
  class RunningCall;
  struct Watched {
    EventLoop::FdWatch readable, writable;
  };

  static int OnSocket(void* easy, int fd, int what, void* self, void* unused);
  static int OnTimer(void* multi, long delay, void* self);
  void Watch(int fd, int what);
  void Act(int fd, int events);
  void CollectEnded();

  EventLoop& loop_;
  void* multi_;                          // libcurl's, with the connections
  std::map<void*, RunningCall*> calls_;  // by libcurl's handle
  std::map<int, Watched> watched_;       // sockets of libcurl's, which says when they are closed
  EventLoop::Timer timer_;
};

}  // namespace tony
