#include "runtime/net/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr unsigned kUnansweredMillis = 30'000;
constexpr int kKeepIdleSeconds = 10;
constexpr int kKeepIntervalSeconds = 5;

Error Failed(const char* what, const Endpoint& address, int error) {
  return Error{ErrorCode::kUnavailable, StrCat(what, " ", ToString(address), ": ", ErrnoText(error))};
}

Result<sockaddr_in> AddressOf(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const bool numeric = ::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr) == 1;
  if (!numeric || endpoint.port < 0 || endpoint.port > UINT16_MAX) {
    return Error{ErrorCode::kUnavailable, StrCat(ToString(endpoint), ": not an IPv4 address and port")};
  }
  address.sin_port = htons(static_cast<uint16_t>(endpoint.port));
  return address;
}

// An option that the kernel does not take is no reason to refuse a connection.
void Set(const UniqueFd& socket, int level, int option, int value) {
  (void)::setsockopt(socket.get(), level, option, &value, sizeof value);
}

template <class Call>
Result<Endpoint> Ask(Call call, const char* name, const UniqueFd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (call(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return Error{ErrorCode::kUnavailable, StrCat(name, ": ", ErrnoText(errno))};
  }
  char host[INET_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  return Endpoint{host, ntohs(address.sin_port)};
}

UniqueFd NewSocket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<UniqueFd> ListenOn(const Endpoint& endpoint) {
  TRY_ASSIGN(const sockaddr_in address, AddressOf(endpoint));
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return Failed("listen on", endpoint, errno);
  Set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), generic, sizeof address) != 0 || ::listen(socket.get(), kMostPending) != 0) {
    return Failed("listen on", endpoint, errno);
  }
  return socket;
}

Result<Endpoint> BoundAddress(const UniqueFd& socket) { return Ask(::getsockname, "getsockname", socket); }
Result<Endpoint> PeerAddress(const UniqueFd& connected) { return Ask(::getpeername, "getpeername", connected); }

Result<UniqueFd> StartConnect(const Endpoint& endpoint) {
  TRY_ASSIGN(const sockaddr_in address, AddressOf(endpoint));
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return Failed("connect to", endpoint, errno);
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  const int rc = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc != 0 && errno != EINPROGRESS) return Failed("connect to", endpoint, errno);
  return socket;
}

void ConfigureConnected(const UniqueFd& socket) {
  Set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  Set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  Set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  Set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMillis);
}

bool IsLoopback(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

}  // namespace tony
