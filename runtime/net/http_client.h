// A client for HTTP servers on the event loop, and the types of its calls and answers.
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

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/net/frame_connection.h"

namespace tony {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A part of a regular file. The caller owns the descriptor, and keeps it open as long as the call lives. The file is
// read by position, on the loop thread, in pieces of at most 64 KiB.
struct FilePart {
  int fd = -1;
  int64_t offset = 0;
  int64_t length = 0;
};

struct HttpCallLimits {
  // The time limit for connecting to the server, including the resolution of the server's name.
  Duration connect{10'000};
  // The time limit without a byte in either direction. A busy NameNode may need several seconds to answer.
  Duration stalled{30'000};
  // The time limit from the start of the call to the end of the answer. Calls that move large files need a higher one.
  Duration whole{60'000};
  size_t answer = 1 << 20;  // bytes of HttpResponse::body
  // The limit for the bytes of the answer's headers. Hadoop's own server accepts headers of this size.
  size_t headers = 64 << 10;
};

// Which HTTPS servers a client trusts (http_trust.cc).
struct HttpTrust {
  // The certificates that the client trusts, as PEM. Empty: the authorities of this machine.
  std::string authorities;
  // The place of `authorities`, for messages to people. Empty: the authorities of this machine.
  std::string origin;
  // False: the certificate of a server may name other hosts.
  bool checks_names = true;
  bool operator==(const HttpTrust&) const = default;
};

// Returns the file with the authorities of this machine: $SSL_CERT_FILE, or the file of the Linux distribution. Empty:
// this machine has no such file.
std::string SystemAuthorities();

enum class Distrust { kAuthority, kHost, kTime };
// Returns the error of a server whose certificate was refused. kUnavailable for kTime, because a site renews a
// certificate that has expired. Otherwise kNotPermitted, because a repetition does not help.
Error DistrustError(const HttpTrust& trust, std::string_view host, Distrust kind, std::string_view reason);
// Returns the error kInvalid for a server that answers without TLS.
Error NoTlsError(std::string_view host);

struct HttpCall {
  std::string method = "GET";
  // The URL, percent-encoded. Errors show it without its query, which may hold a token.
  std::string url;
  HttpHeaders headers;                // in addition to the necessary headers
  std::string body;                   // body of PUT and POST
  std::optional<FilePart> body_file;  // sent in place of `body`
  // Called with the number of bytes of the file that have been sent so far, at most ten times a second.
  std::function<void(int64_t)> on_moved;
  // Called when the server is connected, before the first byte of the request is sent. A call that fails before has
  // changed nothing.
  std::function<void()> on_connected;
  HttpCallLimits limits;
  // For a URL with https. Null: the authorities of this machine.
  std::shared_ptr<const HttpTrust> trust = nullptr;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
};

// Returns the value of the first header with this name; empty if the response has no such header. `name` is in lower
// case.
std::string HeaderOf(const HttpResponse& response, std::string_view name);

// The functions below send GET requests to servers with numeric addresses (http_get.cc). Executors use them, because an
// executor is a static program without libcurl and without a name service. The requests are HTTP/1.0, so that no server
// answers them in chunks.

// The limit for an answer with its headers.
inline constexpr size_t kMostOfGet = 64 << 10;

// Returns the response in the bytes that a server has sent so far; nullopt if bytes are missing. `is_all`: the server
// has closed the connection. kInvalid: the bytes are not HTTP, have chunks, or exceed kMostOfGet. kUnavailable: the
// server has closed the connection too early. Pure.
Result<std::optional<HttpResponse>> HttpResponseIn(std::string_view bytes, bool is_all);

struct HttpServerAddress {
  Endpoint at;  // numeric
  // The name and port under which the server is known. Empty: the address.
  std::string host = {};
  MakeChannel channel = MakePlainChannel;
};

// Sends a request, and calls `done` once with the answer, whatever its status, or with an error. The errors
// are those of HttpResponseIn() and of the channel; also kUnavailable if the answer is not complete within `limit`.
// `target` is percent-encoded. Loop thread only. Destroying the handle cancels the call. `done` is never called inside
// GetByAddress(), and may destroy the handle.
[[nodiscard]] std::unique_ptr<EventLoop::Handle> GetByAddress(EventLoop& loop, const HttpServerAddress& server,
                                                              const std::string& target, Duration limit,
                                                              std::function<void(Result<HttpResponse>)> done);

// A Transfer is a single HTTP call that libcurl performs. Used only in this folder. Loop thread only.

class Transfer {
 public:
  // Calls `on_bytes` after bytes have moved. The call comes from inside libcurl, so `on_bytes` must not destroy
  // anything.
  Transfer(HttpCall call, std::function<void()> on_bytes);
  Transfer(const Transfer&) = delete;

  void* easy() const { return easy_.get(); }  // libcurl's handle
  int64_t sent() const { return sent_; }      // sent bytes of the body
  const HttpCall& call() const { return call_; }
  // Returns the answer, or an error if the call has failed. `code` is libcurl's CURLcode.
  Result<HttpResponse> Finish(int code);
  // Returns an error that names the call.
  Error Failed(ErrorCode code, std::string why) const;

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
  void ConfigureTrust();
  void ConfigureBody();
  void AddHeaders();
  std::optional<size_t> ReadBody(char* to, size_t room);
  bool TakeBody(std::string_view bytes);
  bool TakeHeader(std::string_view line);
  bool Refuse(ErrorCode code, std::string why);
  std::string ReasonFor(int code) const;
  // Returns why no TLS connection was established; nullopt for other errors.
  std::optional<Error> TlsError(int code) const;

  HttpCall call_;
  std::function<void()> on_bytes_;
  HttpResponse response_;
  // Set if this class itself has ended the call inside a callback.
  std::optional<Error> refused_;
  int64_t sent_ = 0;  // sent bytes of the body
  size_t header_bytes_ = 0;
  bool has_all_headers_ = false;
  int requests_ = 0;
  std::string problem_;                     // libcurl's buffer for error texts
  std::unique_ptr<void, Headers> headers_;  // declared before easy_, which uses it
  std::unique_ptr<void, Cleanup> easy_;
};

// Calls HTTP servers from the event loop, by libcurl, which is hidden behind this header.
//
//   Send() -> connecting -> sending -> answered | failed | a limit passed  -> done(Result), once
//        \____________________________ handle destroyed _______________________ no done
//
// Loop thread only. A call belongs to the owner of its handle. Destroying the handle cancels the call: its connection
// is closed, and the server may or may not have done the work. All handles must be destroyed before the client.
// Connections are kept and reused. A call other than GET and HEAD reaches the server at most once. libcurl would repeat
// a call if its kept connection turns out to be closed, and this class prevents the repetition. Redirects are returned
// like any other answer. The environment's proxy variables have no effect, as in Hadoop's clients.
// kUnavailable: no connection or no complete answer, or a time limit has passed; the server may have done the work
// nevertheless. kInvalid: the URL is not valid, the answer exceeds its limits, or the file to send is too short. For a
// certificate that is refused: DistrustError(). A complete answer is a success, whatever its status.

class HttpClient {
 public:
  using Done = std::function<void(Result<HttpResponse>)>;

  explicit HttpClient(EventLoop& loop);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Starts a call. `done` may destroy the handle and start further calls.
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
  void* multi_;                          // libcurl's handle for all connections
  std::map<void*, RunningCall*> calls_;  // by libcurl's handle
  // The sockets that libcurl uses. libcurl reports when it closes one.
  std::map<int, Watched> watched_;
  EventLoop::Timer timer_;
};

}  // namespace tony
