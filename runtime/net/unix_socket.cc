#include "runtime/net/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

Error Failed(const char* what, const SocketPlace& place, int error) {
  return {ErrorCode::kUnavailable, StrCat(what, " ", ToString(place), ": ", ErrnoText(error))};
}

struct OpenedPlace {
  UniqueFd folder;
  sockaddr_un name{};
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&name); }
};

Result<OpenedPlace> Open(const SocketPlace& place) {
  OpenedPlace opened{UniqueFd(::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {}};
  if (!opened.folder.valid()) return Failed("reach", place, errno);
  const std::string path = StrCat("/proc/self/fd/", opened.folder.get(), "/", place.name);
  CHECK(path.size() < sizeof opened.name.sun_path);
  opened.name.sun_family = AF_UNIX;
  std::memcpy(opened.name.sun_path, path.c_str(), path.size() + 1);
  return opened;
}

UniqueFd NewSocket(SocketKind kind) {
  const int type = kind == SocketKind::kStream ? SOCK_STREAM : SOCK_SEQPACKET;
  return UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

std::string ToString(const SocketPlace& place) { return (place.folder / place.name).string(); }

Result<UniqueFd> ListenAt(const SocketPlace& place, SocketKind kind, int backlog) {
  TRY_ASSIGN(const OpenedPlace opened, Open(place));
  UniqueFd socket = NewSocket(kind);
  if (!socket.valid()) return Failed("listen on", place, errno);
  RemoveSocket(place);
  // bind() makes the name with the socket's own mode: there is no moment in which others may connect. What the umask
  // took away is given back.
  if (::fchmod(socket.get(), 0600) != 0 || ::bind(socket.get(), opened.generic(), sizeof opened.name) != 0 ||
      ::chmod(opened.name.sun_path, 0600) != 0 || ::listen(socket.get(), backlog) != 0)
    return Failed("listen on", place, errno);
  return socket;
}

Result<std::optional<UniqueFd>> ConnectTo(const SocketPlace& place, SocketKind kind) {
  TRY_ASSIGN(const OpenedPlace opened, Open(place));
  UniqueFd socket = NewSocket(kind);
  if (!socket.valid()) return Failed("connect to", place, errno);
  if (::connect(socket.get(), opened.generic(), sizeof opened.name) == 0) return std::optional(std::move(socket));
  if (errno == EAGAIN) return std::optional<UniqueFd>();
  return Failed("connect to", place, errno);
}

void RemoveSocket(const SocketPlace& place) { ::unlink((place.folder / place.name).c_str()); }

}  // namespace tony
