#include "runtime/os/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"

namespace tony {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::string_view kBelow = "/dev/shm/";

using Files = std::map<ino_t, std::string>;
using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

Folder Open(const std::string& path) { return {opendir(path.c_str()), closedir}; }

// Opens /dev/shm; invalid if /dev/shm is a link.
UniqueFd OpenSharedMemory() { return UniqueFd(open(kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)); }

std::optional<struct stat> LookAt(int folder, const std::string& name) {
  struct stat info {};
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return info;
}

bool HasFilesOfOurs() {
  const UniqueFd shm = OpenSharedMemory();
  const Folder folder = Open(kFolder);
  while (const dirent* entry = shm.valid() && folder ? readdir(folder.get()) : nullptr) {
    const auto info = LookAt(shm.get(), entry->d_name);
    if (entry->d_name[0] != '.' && info && info->st_uid == geteuid()) return true;
  }
  return false;
}

// Adds the files in /dev/shm that `pid` has open. The link of a descriptor reads e.g. "/dev/shm/psm_1f2e3d". If the
// file has lost its name, the kernel appends " (deleted)", and the text then matches no file.
void AddOpen(pid_t pid, dev_t device, Files& found) {
  const std::string path = StrCat("/proc/", pid, "/fd");
  const Folder folder = Open(path);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    char target[PATH_MAX];
    const ssize_t size = readlinkat(dirfd(folder.get()), entry->d_name, target, sizeof target);
    const std::string_view name(target, size > 0 ? static_cast<size_t>(size) : 0);
    struct stat info {};  // the open file itself
    if (name.starts_with(kBelow) && fstatat(dirfd(folder.get()), entry->d_name, &info, 0) == 0 && info.st_dev == device)
      found.emplace(info.st_ino, name.substr(kBelow.size()));
  }
}

// Adds the files in /dev/shm that `pid` has mapped. A line of /proc/PID/maps reads e.g.
// "7f51aa000000-7f51ab000000 rw-s 00000000 00:19 42                /dev/shm/psm_1f2e3d"
void AddMapped(pid_t pid, dev_t device, Files& found) {
  std::ifstream maps(StrCat("/proc/", pid, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find(kBelow);
    if (path == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, rights, offset;
    unsigned major = 0, minor = 0;
    char colon = 0;
    ino_t inode = 0;
    words >> range >> rights >> offset >> std::hex >> major >> colon >> minor >> std::dec >> inode;
    if (words && makedev(major, minor) == device) found.emplace(inode, line.substr(path + kBelow.size()));
  }
}

// Maps the inode of each used file to the first process that was found to use it. nullopt: a shortage of descriptors or
// memory prevents the search.
using Users = std::optional<std::map<ino_t, pid_t>>;
Users UsedByAnybody(dev_t device) {
  const Folder processes = Open("/proc");
  if (!processes) return std::nullopt;
  std::map<ino_t, pid_t> used;
  while (const dirent* entry = readdir(processes.get())) {
    const auto pid = ParseInt(entry->d_name);
    if (!pid) continue;
    errno = 0;
    Files files;
    AddOpen(static_cast<pid_t>(*pid), device, files);
    if (!IsShortage(errno)) AddMapped(static_cast<pid_t>(*pid), device, files);
    if (IsShortage(errno)) return std::nullopt;
    for (const auto& [inode, name] : files) used.emplace(inode, static_cast<pid_t>(*pid));
  }
  return used;
}

std::string WhyLeft(const std::string& name, const struct stat& info, const Users& used) {
  if (!used) return "the processes that use the file are unknown";
  const auto user = used->find(info.st_ino);
  if (user != used->end()) return StrCat("process ", user->second, " uses the file");
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid()) return "the file is not a regular file of this user";
  return name.find('/') == std::string::npos ? "" : "the file is in a subfolder of /dev/shm";
}

std::string Some(std::vector<std::string> names) {
  constexpr size_t kNamed = 10;
  const size_t all = names.size();
  names.resize(std::min(all, kNamed));
  return StrCat(Join(names, ", "), all > kNamed ? StrCat(" and ", all - kNamed, " more") : "");
}

}  // namespace

void SharedMemory::Note(const std::function<std::set<pid_t>()>& processes) {
  struct stat info {};
  if (!HasFilesOfOurs() || stat(kFolder, &info) != 0) return;
  for (const pid_t pid : processes()) {
    AddOpen(pid, info.st_dev, noted_);
    AddMapped(pid, info.st_dev, noted_);
  }
}

std::vector<std::string> SharedMemory::Free() {
  const Files noted = std::exchange(noted_, {});
  const UniqueFd shm = noted.empty() ? UniqueFd() : OpenSharedMemory();
  struct stat folder {};
  if (!shm.valid() || fstat(shm.get(), &folder) != 0) return {};
  std::map<std::string, struct stat> named;
  for (const auto& [inode, name] : noted)
    if (const auto info = LookAt(shm.get(), name); info && info->st_dev == folder.st_dev && info->st_ino == inode)
      named.emplace(name, *info);
  if (named.empty()) return {};
  const auto used = UsedByAnybody(folder.st_dev);
  std::vector<std::string> removed, left;
  int64_t bytes = 0;
  for (const auto& [name, info] : named) {
    const std::string why = WhyLeft(name, info, used);
    if (why.empty() && unlinkat(shm.get(), name.c_str(), 0) == 0) {
      removed.push_back(name);
      bytes += int64_t{info.st_blocks} * 512;
    } else {
      left.push_back(StrCat(name, " (", why.empty() ? ErrnoText(errno) : why, ")"));
    }
  }
  std::vector<std::string> lines;
  if (!removed.empty())
    lines.push_back(StrCat("removed ", bytes >> 20,
                           " MB of files from /dev/shm, because their processes have ended: ", Some(removed)));
  if (!left.empty())
    lines.push_back(StrCat("did not remove these files from /dev/shm, although processes that used them have ended: ",
                           Some(left)));
  return lines;
}

}  // namespace tony
