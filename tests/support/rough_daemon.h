// Daemons that are hard to end, for tests: the program rough_daemon, whose kinds are in rough_daemon.cc.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace tony {

// Each hides from another way of ending it.
inline std::vector<std::string> RoughKinds() {
  return {"refork", "refork,noterm", "refork,bare,quiet", "refork,exec", "hasty",   "hasty,bare,quiet",
          "bomb",   "stopped",       "stopped,noterm",    "headless",    "nosignal"};
}

// Whether any process of the daemon that was given this lock file lives. By the kernel's word, not by a look at /proc.
inline bool DaemonLives(const std::filesystem::path& lock_file) {
  const UniqueFd fd(open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  return fd.valid() && flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

// As the name of a test.
inline std::string RoughName(std::string kind) {
  std::ranges::replace(kind, ',', '_');
  return kind;
}

}  // namespace tony
