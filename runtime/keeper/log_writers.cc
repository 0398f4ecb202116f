#include "runtime/keeper/log_writers.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "runtime/base/strings.h"
#include "runtime/os/files.h"

namespace tony::keeper {
namespace {

// "flags:\t0100001" in /proc/pid/fdinfo/1, octal.
bool IsOpenForWriting(pid_t process, int fd) {
  const auto info = ReadFile(StrCat("/proc/", process, "/fdinfo/", fd));
  if (!info.ok()) return false;
  constexpr std::string_view kFlags = "flags:";
  const size_t at = info->find(kFlags);
  if (at == std::string::npos) return false;
  return (std::strtol(info->c_str() + at + kFlags.size(), nullptr, 8) & O_ACCMODE) != O_RDONLY;
}

}  // namespace

bool WritesBelow(pid_t process, const std::filesystem::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    char target[PATH_MAX];
    const ssize_t size = readlink(StrCat("/proc/", process, "/fd/", fd).c_str(), target, sizeof target);
    if (size > 0 && std::string_view(target, static_cast<size_t>(size)).starts_with(prefix) &&
        IsOpenForWriting(process, fd))
      return true;
  }
  return false;
}

}  // namespace tony::keeper
