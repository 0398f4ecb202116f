// Cuts HTTP/1.x requests out of the bytes of a connection. Boost.Beast's parser is behind it, in request_reader.cc
// alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/net/http_request.h"

namespace tony {

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

}  // namespace tony
