// Daemons that are hard to end, for tests: the program rough_daemon. Its kinds are explained in rough_daemon.cc.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace tony {

// Returns the kinds. Each of them defeats another way of ending a daemon.
inline std::vector<std::string> RoughKinds() {
  return {"refork", "refork,noterm", "refork,bare,quiet", "refork,exec", "hasty",   "hasty,bare,quiet",
          "bomb",   "stopped",       "stopped,noterm",    "headless",    "nosignal"};
}

// Returns whether any process of the daemon with this lock file lives. The kernel's lock decides, not a listing of
// /proc.
inline bool DaemonLives(const std::filesystem::path& lock_file) {
  const UniqueFd fd(open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  return fd.valid() && flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

// Returns the kind in the form of a test's name.
inline std::string RoughName(std::string kind) {
  std::ranges::replace(kind, ',', '_');
  return kind;
}

}  // namespace tony
