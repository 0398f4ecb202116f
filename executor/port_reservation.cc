#include "executor/port_reservation.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <random>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

Error Failed(std::string_view what) {
  return {ErrorCode::kUnavailable, StrCat("reserve a port: ", what, ": ", ErrnoText(errno))};
}

template <class Address>
bool Bind(const UniqueFd& fd, const Address& address) {
  return fd.valid() && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Bound for IPv6 alone it is in no IPv4 server's way, but in that of another guard. Without IPv6 there is none.
std::optional<UniqueFd> Guard(int port) {
  UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  const int on = 1;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  const bool guards = setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0 && Bind(fd, address);
  if (!guards && errno == EADDRINUSE) return std::nullopt;
  return fd;
}

constexpr int kLowest = 20000;  // below are most services that people know
constexpr int kLeastPorts = 1000;
constexpr int kTries = 100;

// Ports below those that the kernel gives to whoever asks for any: [kLowest, this).
int EndOfQuietPorts() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  int low = 0;
  return range >> low ? low : 0;
}

}  // namespace

Result<PortReservation> PortReservation::Make() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Failed("socket");
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return Failed("SO_REUSEADDR");
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return Failed("SO_REUSEPORT");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return Failed("bind");
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return Failed("getsockname");
  return PortReservation(std::move(fd), ntohs(address.sin_port));
}

Result<PortReservation> PortReservation::MakeToLetGo() {
  const int end = EndOfQuietPorts();
  if (end - kLowest < kLeastPorts) return Make();
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const int port = kLowest + static_cast<int>(random() % static_cast<unsigned>(end - kLowest));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    address.sin_port = htons(static_cast<uint16_t>(port));
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!Bind(fd, address)) continue;
    auto guard = Guard(port);
    if (!guard) continue;
    PortReservation made(std::move(fd), port);
    made.guard_ = *std::move(guard);
    return made;
  }
  return Make();
}

void PortReservation::LetGo() { socket_ = UniqueFd(); }

Status PortReservation::Renew() {
  if (socket_.valid()) return Ok();
  TRY_ASSIGN(*this, MakeToLetGo());
  return Ok();
}

Result<std::map<std::string, PortReservation>> ReservePorts(const std::vector<std::string>& names) {
  std::map<std::string, PortReservation> ports;
  for (const std::string& name : names) {
    TRY_ASSIGN(PortReservation port, PortReservation::Make());
    ports.emplace(name, std::move(port));
  }
  return ports;
}

}  // namespace tony::executor
