// What is asked of an HTTP server, and what it answers. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/time.h"

namespace tony {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// A part of a regular file. The descriptor stays its owner's, who keeps it open as long as the call lives. It is read
// and written by position, on the loop thread, in pieces of at most 64 KiB.
struct FilePart {
  int fd = -1;
  int64_t offset = 0;
  int64_t length = 0;  // of a body that is sent: exactly so much; of one that is received: at most so much
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
  std::optional<FilePart> answer_file;    // gets the body of an answer 2xx in place of HttpResponse::body
  std::function<void(int64_t)> on_moved;  // bytes of file parts that were moved so far; at most ten times a second
  HttpCallLimits limits;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;  // names in lower case
  std::string body;
  int64_t moved = 0;  // bytes of the body that went to HttpCall::answer_file
};

// The value of the header; of several the first. Empty: there is none. `name` is in lower case.
std::string HeaderOf(const HttpResponse& response, std::string_view name);

}  // namespace tony
