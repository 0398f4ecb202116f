// Who is at the other end of a Unix socket, and whether that is somebody whom a job's processes talk to.
//
// The kernel writes a user who has no name in our user namespace as the overflow uid (65534, "nobody"): many strangers
// under one number. So that number is believed only where every user has a name, as on a machine outside of all user
// namespaces; elsewhere it is refused, also where it is our own.
#pragma once

#include <sys/types.h>

#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
};

// For an accepted socket who connected, for a connected one who listens. kUnavailable: not a Unix socket.
Result<Peer> PeerOf(const UniqueFd& socket);

// How this process's user namespace writes users.
struct UserNames {
  uid_t overflow = 65534;
  bool complete = false;  // every user has a name: nobody is written as the overflow uid but who has it
};
UserNames ReadUserNames();  // what cannot be read is taken for a namespace with strangers

// Root, or one of `own`, and not perhaps somebody else. Pure.
bool IsOneOf(uid_t peer, const std::vector<uid_t>& own, const UserNames& names);

// kNotPermitted: this process's own user cannot be told from strangers, so that no job can run.
Status CheckOwnUser();

}  // namespace tony
