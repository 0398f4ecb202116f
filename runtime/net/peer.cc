#include "runtime/net/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>

#include "runtime/base/strings.h"

namespace tony {
namespace {

bool EveryoneHasAName() {
  // Lines of "first, first outside, count"; all of them together are every uid but the last, which is none.
  std::ifstream map("/proc/self/uid_map");
  uint64_t first = 0, outside = 0, count = 0, mapped = 0;
  while (map >> first >> outside >> count) mapped += count;
  return mapped >= std::numeric_limits<uint32_t>::max();
}

}  // namespace

Result<Peer> PeerOf(const UniqueFd& socket) {
  struct ucred credentials = {};
  socklen_t size = sizeof credentials;
  int domain = 0;
  socklen_t domain_size = sizeof domain;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 || domain != AF_UNIX)
    return Error{ErrorCode::kUnavailable, "a peer's user is known on a Unix socket alone"};
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return Error{ErrorCode::kUnavailable, StrCat("ask for a peer's user: ", ErrnoText(errno))};
  return Peer{credentials.uid, credentials.pid};
}

UserNames ReadUserNames() {
  UserNames names{.complete = EveryoneHasAName()};
  std::ifstream("/proc/sys/kernel/overflowuid") >> names.overflow;
  return names;
}

bool IsOneOf(uid_t peer, const std::vector<uid_t>& own, const UserNames& names) {
  if (peer == names.overflow && !names.complete) return false;
  return peer == 0 || std::ranges::find(own, peer) != own.end();
}

Status CheckOwnUser() {
  const UserNames names = ReadUserNames();
  if (IsOneOf(::geteuid(), {::geteuid()}, names)) return Ok();
  return Error{ErrorCode::kNotPermitted,
               StrCat("in this user namespace uid ", names.overflow,
                      " stands for everybody who has no name: a job's processes could not tell their own user from "
                      "strangers; expected a mapped user, as with \"unshare --map-root-user\"")};
}

}  // namespace tony
