// Where a process listens.
#pragma once

#include <string>

#include "runtime/base/strings.h"

namespace tony {

struct Endpoint {
  std::string host;
  int port = 0;
  auto operator<=>(const Endpoint&) const = default;
};
inline std::string ToString(const Endpoint& endpoint) { return StrCat(endpoint.host, ":", endpoint.port); }

}  // namespace tony
