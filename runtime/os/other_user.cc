#include "runtime/os/other_user.h"

#include <unistd.h>

#include "runtime/base/strings.h"

namespace tony {

std::string OtherUser(uid_t user) {
  if (user == ::geteuid()) return "";
  return user == 0 ? "root (uid 0)" : StrCat("uid ", user);
}

}  // namespace tony
