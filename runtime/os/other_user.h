// Naming a user who is not the job's own, in logs and verdicts.
#pragma once

#include <sys/types.h>

#include <string>

namespace tony {

// "root (uid 0)", "uid 1001"; no other names, because who asks for those may wait for a directory server. Empty: this
// process's own user.
std::string OtherUser(uid_t user);

}  // namespace tony
