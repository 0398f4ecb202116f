#include "runtime/os/tilde.h"

#include <unistd.h>

#include <cstdlib>

#include "runtime/os/users.h"

namespace tony {

std::string ExpandTilde(std::string path) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const char* home = std::getenv("HOME");
  if (home && *home) return path.replace(0, 1, home);
  const auto user = FindUser(geteuid());
  if (user.ok() && *user && !(*user)->folder.empty()) path.replace(0, 1, (*user)->folder);
  return path;
}

}  // namespace tony
