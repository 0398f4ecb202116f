// Where a process listens.
#pragma once

#include <string>
#include <variant>

#include "runtime/base/result.h"
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

// Where an application master listens: on its own machine a Unix socket in the job's folder, else a host and port.

// The name of a Unix socket, relative to the job's folder: who sees that folder elsewhere (a bind mount) finds it, too.
struct SocketName {
  std::string value;
  auto operator<=>(const SocketName&) const = default;
};

using Address = std::variant<SocketName, Endpoint>;

inline std::string ToString(const Address& address) {
  return std::visit(Overloaded{[](const SocketName& socket) { return socket.value; },
                               [](const Endpoint& endpoint) { return ToString(endpoint); }},
                    address);
}

}  // namespace tony
