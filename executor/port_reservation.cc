#include "executor/port_reservation.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

Error Failed(std::string_view what) {
  return {ErrorCode::kUnavailable, StrCat("reserve a port: ", what, ": ", ErrnoText(errno))};
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

}  // namespace tony::executor
