#include "runtime/ledger/ledger_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/ledger/ledger_witness.h"
#include "runtime/os/files.h"

namespace tony {

namespace fs = std::filesystem;

// flock needs no right to write, and nobody can take the file of the lock away.
Result<UniqueFd> LockFolder(const fs::path& folder, bool shared) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid())
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kCannotWrite, "open", folder, errno);
  if (flock(fd.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return Error{ErrorCode::kUnavailable, StrCat("lock ", folder.string(), ": another process holds it")};
    return FileError(ErrorCode::kCannotWrite, "lock", folder, errno);
  }
  struct stat status = {};
  if (fstat(fd.get(), &status) == 0 && status.st_nlink == 0)
    return FileError(ErrorCode::kNotFound, "open", folder, ENOENT);
  return fd;
}

// "1: FLOCK  ADVISORY  WRITE 8521 fe:00:9977998 0 EOF"; with "->" behind the number it only waits for the lock.
std::vector<int64_t> LockHoldersIn(const std::string& locks, uint64_t device, uint64_t inode) {
  std::vector<int64_t> holders;
  for (const std::string& line : Split(locks, '\n')) {
    std::vector<std::string> words = Split(line, ' ');
    std::erase(words, "");
    if (words.size() < 6 || words[1] != "FLOCK") continue;
    const std::vector<std::string> file = Split(words[5], ':');
    if (file.size() != 3 || ParseInt(file[2]) != static_cast<int64_t>(inode)) continue;
    const uint64_t on = makedev(std::strtoul(file[0].c_str(), nullptr, 16), std::strtoul(file[1].c_str(), nullptr, 16));
    const auto pid = ParseInt(words[4]);
    if (on == device && pid && std::ranges::count(holders, *pid) == 0) holders.push_back(*pid);
  }
  return holders;
}

std::vector<int64_t> LockHolders(const fs::path& folder) {
  struct stat status = {};
  const auto locks = ReadFile("/proc/locks");
  if (stat(folder.c_str(), &status) != 0 || !locks.ok()) return {};
  std::vector<int64_t> holders = LockHoldersIn(*locks, status.st_dev, status.st_ino);
  std::erase(holders, getpid());
  return holders;
}

std::string DescribeHolders(const std::vector<int64_t>& holders) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> texts;
  for (const int64_t pid : holders) {
    if (texts.size() == kMostNamed) break;
    if (const auto process = LookAtProcess(pid)) texts.push_back(Describe(*process));
  }
  if (texts.empty()) return "a process that cannot be seen from here, or whose parent took the lock and ended";
  if (holders.size() > kMostNamed) texts.push_back(StrCat(holders.size() - kMostNamed, " more"));
  return Join(texts, ", ");
}

}  // namespace tony
