// Where an application master listens: on its own machine a Unix socket in the job's folder, else a host and port.
#pragma once

#include <string>
#include <variant>

#include "runtime/base/endpoint.h"
#include "runtime/base/overloaded.h"

namespace tony {

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
