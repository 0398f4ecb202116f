// The addresses at which processes listen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"

namespace tony {

// The loopback address, at which this machine reaches only itself. The address is numeric, so it needs no name
// resolution. Used only by parts that serve or run on one machine (the local scheduler, its pages).
inline constexpr char kLoopback[] = "127.0.0.1";

struct Endpoint {
  std::string host;
  int port = 0;
  auto operator<=>(const Endpoint&) const = default;
};
inline std::string ToString(const Endpoint& endpoint) { return StrCat(endpoint.host, ":", endpoint.port); }
// Parses "HOST:PORT" or "HOST". nullopt: the text has another form, or the port, which may be `default_port`, is not
// between 1 and 65535.
inline std::optional<Endpoint> ParseEndpoint(const std::string& text, int default_port) {
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string::npos ? default_port : ParseInt(text.substr(colon + 1));
  std::string host = text.substr(0, colon);
  if (host.empty() || !port || *port < 1 || *port > UINT16_MAX) return std::nullopt;
  return Endpoint{std::move(host), static_cast<int>(*port)};
}

// The name of a Unix socket, relative to the job's folder. A process that sees the folder at another path (a bind
// mount) finds the socket, too.
struct SocketName {
  std::string value;
  auto operator<=>(const SocketName&) const = default;
};

// The address at which an application master listens: a Unix socket in the job's folder if the job runs on one machine,
// otherwise a host and a port.
using Address = std::variant<SocketName, Endpoint>;

inline std::string ToString(const Address& address) {
  return std::visit(Overloaded{[](const SocketName& socket) { return socket.value; },
                               [](const Endpoint& endpoint) { return ToString(endpoint); }},
                    address);
}

}  // namespace tony
