// Where a process listens.
#pragma once

#include <string>

#include "runtime/base/strings.h"

namespace tony {

// This machine as only it reaches itself: by a number, so that nothing has to be resolved. For who serves or runs on
// one machine alone (the local scheduler, its pages); nobody else assumes it.
inline constexpr char kLoopback[] = "127.0.0.1";

struct Endpoint {
  std::string host;
  int port = 0;
  auto operator<=>(const Endpoint&) const = default;
};
inline std::string ToString(const Endpoint& endpoint) { return StrCat(endpoint.host, ":", endpoint.port); }

}  // namespace tony
