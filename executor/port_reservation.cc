#include "executor/port_reservation.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <random>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

Error Failed(std::string_view what) { return UnavailableError("reserve a port: ", what, ": ", ErrnoText(errno)); }

template <class Address>
bool Bind(const UniqueFd& fd, const Address& address, size_t size = sizeof(Address)) {
  return fd.valid() && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) == 0;
}

sockaddr_in AnyAddress(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Returns a socket that is bound to the abstract name "tony-port-PORT", which shows other executors that the port is
// taken. The socket is invalid if another process has bound this name, or if the socket cannot be created.
UniqueFd TakeName(int port) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = StrCat("tony-port-", port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // a leading NUL: abstract
  return Bind(fd, address, offsetof(sockaddr_un, sun_path) + 1 + name.size()) ? std::move(fd) : UniqueFd();
}

// Ports that the kernel never chooses by itself: [first_low, end_low) and [first_high, end_high).
struct QuietPorts {
  int first_low = 20'000;  // most well-known services use lower ports
  int end_low = 20'000;
  int first_high = 65'536;
  int end_high = 65'536;

  int low() const { return std::max(0, end_low - first_low); }
  int size() const { return low() + std::max(0, end_high - first_high); }
  int At(int place) const { return place < low() ? first_low + place : first_high + place - low(); }
};

QuietPorts FindQuietPorts() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  QuietPorts quiet;
  int low = 0, high = 0;
  if (range >> low >> high) {
    quiet.end_low = low;
    quiet.first_high = high + 1;
  }
  return quiet;
}

constexpr int kLeastPorts = 1000;
constexpr int kTries = 100;

}  // namespace

// Binds the port for IPv4 and IPv6 without socket options. Such a bind fails if another process has the port, and keeps
// other processes from getting the port afterwards.
bool PortReservation::Hold() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!Bind(fd, AnyAddress(port_))) return false;
  UniqueFd fd6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  address.sin6_port = htons(static_cast<uint16_t>(port_));
  // Without IPv6 only the IPv4 port has to be held.
  const bool has_ipv6 = fd6.valid() && setsockopt(fd6.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0;
  if (has_ipv6 && !Bind(fd6, address) && errno == EADDRINUSE) return false;
  socket_ = std::move(fd);
  socket6_ = std::move(fd6);
  return true;
}

Result<PortReservation> PortReservation::Make() {
  const QuietPorts quiet = FindQuietPorts();
  if (quiet.size() < kLeastPorts) return MakeEphemeral();
  std::random_device random;
  for (int i = 0; i < kTries; ++i) {
    const int port = quiet.At(static_cast<int>(random() % static_cast<unsigned>(quiet.size())));
    UniqueFd name = TakeName(port);
    if (!name.valid()) continue;
    PortReservation made(port, std::move(name));
    if (made.Hold()) return made;
  }
  return MakeEphemeral();
}

Result<PortReservation> PortReservation::MakeEphemeral() {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Failed("socket");
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return Failed("SO_REUSEADDR");
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return Failed("SO_REUSEPORT");
  sockaddr_in address = AnyAddress(0);
  socklen_t size = sizeof address;
  if (!Bind(fd, address)) return Failed("bind");
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return Failed("getsockname");
  PortReservation made(ntohs(address.sin_port), UniqueFd());
  made.socket_ = std::move(fd);
  return made;
}

void PortReservation::LetGo() {
  socket_ = UniqueFd();
  socket6_ = UniqueFd();
}

Status PortReservation::Renew(bool may_change) {
  if (socket_.valid() || (is_quiet() && Hold()) || !may_change) return Ok();
  TRY_ASSIGN(*this, Make());
  return Ok();
}

Result<ReservedPorts> ReservePorts(const std::vector<std::string>& names) {
  ReservedPorts ports;
  for (const std::string& name : names) {
    TRY_ASSIGN(PortReservation port, PortReservation::Make());
    ports.emplace(name, std::move(port));
  }
  return ports;
}

}  // namespace tony::executor
