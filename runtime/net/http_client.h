// What is asked of an HTTP server, and what it answers. Values.
#pragma once

#include <cstddef>
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
#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A part of a regular file. The descriptor stays its owner's, who keeps it open as long as the call lives. It is read
// by position, on the loop thread, in pieces of at most 64 KiB.
struct FilePart {
  int fd = -1;
  int64_t offset = 0;
  int64_t length = 0;
};

struct HttpCallLimits {
  Duration connect{10'000};   // until the server has taken the connection; its name is resolved within that
  Duration stalled{30'000};   // without a byte in either direction; a busy NameNode may think for some seconds
  Duration whole{60'000};     // from the start to the end of the answer; who moves large files asks for more
  size_t answer = 1 << 20;    // bytes of HttpResponse::body
  size_t headers = 64 << 10;  // bytes of the answer's headers, as much as Hadoop's own server takes
};

struct HttpCall {
  std::string method = "GET";
  std::string url;                        // percent-encoded; errors show it without its query, which may hold a token
  HttpHeaders headers;                    // beside those that are needed anyway
  std::string body;                       // of PUT and POST
  std::optional<FilePart> body_file;      // in place of `body`
  std::function<void(int64_t)> on_moved;  // bytes of the file that were sent so far; at most ten times a second
  HttpCallLimits limits;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
};

// The value of the header; of several the first. Empty: there is none. `name` is in lower case.
std::string HeaderOf(const HttpResponse& response, std::string_view name);

// One call as libcurl carries it out. Private to this folder. Loop thread only.

class Transfer {
 public:
  // `on_bytes` is called, inside of libcurl, after bytes have moved: it must not destroy anything.
  Transfer(HttpCall call, std::function<void()> on_bytes);
  Transfer(const Transfer&) = delete;

  void* easy() const { return easy_.get(); }  // libcurl's handle
  int64_t sent() const { return sent_; }      // bytes of the body
  const HttpCall& call() const { return call_; }
  Result<HttpResponse> Finish(int code);                // what became of it: `code` is libcurl's CURLcode
  Error Failed(ErrorCode code, std::string why) const;  // names the call

 private:
  struct Cleanup {
    void operator()(void* easy) const;
  };
  struct Headers {
    void operator()(void* list) const;
  };

  static size_t OnRead(char* to, size_t size, size_t count, void* self);
  static size_t OnWrite(char* from, size_t size, size_t count, void* self);
  static size_t OnHeader(char* from, size_t size, size_t count, void* self);
  static int OnRequest(void* self, char*, char*, int, int);

  void Configure();
  void ConfigureBody();
  void AddHeaders();
  std::optional<size_t> ReadBody(char* to, size_t room);
  bool TakeBody(std::string_view bytes);
  bool TakeHeader(std::string_view line);
  bool Refuse(ErrorCode code, std::string why);
  std::string ReasonFor(int code) const;

  HttpCall call_;
  std::function<void()> on_bytes_;
  HttpResponse response_;
  std::optional<Error> refused_;  // by ourselves, inside a callback
  int64_t sent_ = 0;              // of the body
  size_t header_bytes_ = 0;
  bool has_all_headers_ = false;
  int requests_ = 0;
  std::string problem_;                     // libcurl's buffer for its own words
  std::unique_ptr<void, Headers> headers_;  // before easy_, which uses it
  std::unique_ptr<void, Cleanup> easy_;
};

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
// an answer above its bounds; a file to send that is too short). Any answer that is whole is no error, whatever its
// status.

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
