#include "runtime/scheduler/local/users.h"

#include <pwd.h>
#include <sys/types.h>

#include <array>

#include "runtime/base/strings.h"

namespace tony {

std::string UserName(int64_t user) {
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (getpwuid_r(static_cast<uid_t>(user), &entry, buffer.data(), buffer.size(), &found) == 0 && found)
    return found->pw_name;
  return StrCat(user);
}

std::optional<int64_t> UserNumber(const std::string& name) {
  passwd entry = {};
  passwd* found = nullptr;
  std::array<char, 4096> buffer;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->pw_uid;
  const auto number = ParseInt(name);
  return number && *number >= 0 && *number < (int64_t{1} << 32) ? number : std::nullopt;
}

}  // namespace tony
