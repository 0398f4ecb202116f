// One call as libcurl carries it out. Private to this folder. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/net/http_call.h"

namespace tony {

class Transfer {
 public:
  // `on_bytes` is called, inside of libcurl, after bytes have moved: it must not destroy anything.
  Transfer(HttpCall call, std::function<void()> on_bytes);
  Transfer(const Transfer&) = delete;

  void* easy() const { return easy_.get(); }  // libcurl's handle
  int64_t moved() const { return moved_; }    // bytes of file parts
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
  bool WriteFile(std::string_view bytes);
  bool TakeHeader(std::string_view line);
  bool Refuse(ErrorCode code, std::string why);
  std::string ReasonFor(int code) const;
  bool IsRepeatable() const { return call_.method == "GET" || call_.method == "HEAD"; }

  HttpCall call_;
  std::function<void()> on_bytes_;
  HttpResponse response_;
  std::optional<Error> refused_;  // by ourselves, inside a callback
  int64_t sent_ = 0;              // of the body
  int64_t moved_ = 0;
  size_t header_bytes_ = 0;
  bool has_all_headers_ = false;
  int requests_ = 0;
  std::string problem_;                     // libcurl's buffer for its own words
  std::unique_ptr<void, Headers> headers_;  // before easy_, which uses it
  std::unique_ptr<void, Cleanup> easy_;
};

}  // namespace tony
