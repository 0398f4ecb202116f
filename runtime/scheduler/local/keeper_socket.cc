#include "runtime/scheduler/local/keeper_socket.h"

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

constexpr char kName[] = "keeper.sock";

Error SocketError(const char* what, const JobFolder& folder) {
  return {ErrorCode::kUnavailable, StrCat(what, " ", (folder.path() / kName).string(), ": ", ErrnoText(errno))};
}

struct Address {
  UniqueFd folder;
  sockaddr_un name;
};

// A socket's name has room for 107 bytes and a folder's path may be longer: so by way of an open folder.
Result<Address> AddressOf(const JobFolder& folder) {
  Address address{UniqueFd(open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {}};
  if (!address.folder.valid()) return SocketError("reach", folder);
  const std::string path = StrCat("/proc/self/fd/", address.folder.get(), "/", kName);
  CHECK(path.size() < sizeof address.name.sun_path);
  address.name.sun_family = AF_UNIX;
  std::memcpy(address.name.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<UniqueFd> NewSocket(const JobFolder& folder) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SocketError("make", folder);
  return fd;
}

}  // namespace

Result<UniqueFd> ListenAsKeeper(const JobFolder& folder) {
  constexpr int kBacklog = 16;  // one AM connects, again and again at worst
  TRY_ASSIGN(const Address address, AddressOf(folder));
  TRY_ASSIGN(UniqueFd fd, NewSocket(folder));
  RemoveKeeperSocket(folder);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.name), sizeof address.name) != 0 ||
      chmod((folder.path() / kName).c_str(), 0600) != 0 || listen(fd.get(), kBacklog) != 0)
    return SocketError("listen on", folder);
  return fd;
}

Result<UniqueFd> ConnectToKeeper(const JobFolder& folder) {
  TRY_ASSIGN(const Address address, AddressOf(folder));
  TRY_ASSIGN(UniqueFd fd, NewSocket(folder));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.name), sizeof address.name) != 0)
    return SocketError("connect to", folder);
  return fd;
}

void RemoveKeeperSocket(const JobFolder& folder) { unlink((folder.path() / kName).c_str()); }

}  // namespace tony
