#include "runtime/os/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kMostPasses = 100;  // at a folder in which somebody else makes or removes entries

std::string ByNumber(int fd) { return StrCat("/proc/self/fd/", fd); }

// The number of the mount that the file is on. Not st_dev: a folder that is mounted a second time has the same one, and
// an overlay has several.
std::optional<std::string> MountOf(int fd) {
  const auto info = ReadFile(StrCat("/proc/self/fdinfo/", fd));
  constexpr std::string_view kMount = "mnt_id:";
  const size_t at = info.ok() ? info->find(kMount) : std::string::npos;
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + kMount.size();
  return info->substr(begin, info->find('\n', begin) - begin);
}

class Remover {
 public:
  // `folder`: the one that has the entry.
  Remover(const fs::path& path, int folder) : mount_(MountOf(folder)) {
    if (mount_)
      Remove(folder, path.filename(), path);
    else
      Keep(FileError(ErrorCode::kCannotWrite, "find the file system of", path, ENOENT));
  }
  const Status& result() const { return result_; }

 private:
  void Keep(Error error) {
    ++kept_;
    if (result_.ok()) result_ = std::move(error);
  }
  void KeepErrno(const fs::path& path, int error) {
    if (error != ENOENT) Keep(FileError(ErrorCode::kCannotWrite, "remove", path, error));
  }

  void Remove(int parent, const std::string& name, const fs::path& path) {
    const UniqueFd entry(openat(parent, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!entry.valid() || fstat(entry.get(), &info) != 0) return KeepErrno(path, errno);
    if (!S_ISDIR(info.st_mode)) {
      if (unlinkat(parent, name.c_str(), 0) != 0) KeepErrno(path, errno);
      return;
    }
    if (MountOf(entry.get()) != mount_)
      return Keep({ErrorCode::kCannotWrite,
                   StrCat("remove ", path.string(), ": a file system is mounted there; unmount it, and try again")});
    for (int looks = 0; looks < kMostPasses; ++looks) {
      if (!Empty(entry.get(), path)) return;
      if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return;
      if (errno != ENOTEMPTY) return KeepErrno(path, errno);
    }
    KeepErrno(path, ENOTEMPTY);
  }

  // Whether all that was in the folder has gone. A folder that its owner may not write or read is opened up first, by
  // its descriptor, because somebody may have put a link in its place.
  bool Empty(int folder, const fs::path& path) {
    if (faccessat(folder, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) (void)chmod(ByNumber(folder).c_str(), S_IRWXU);
    const auto names = NamesIn(folder, path);
    if (!names) return false;
    const int kept_before = kept_;
    for (const std::string& name : *names) Remove(folder, name, path / name);
    return kept_ == kept_before;
  }

  std::optional<std::vector<std::string>> NamesIn(int folder, const fs::path& path) {
    UniqueFd readable(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* const entries = readable.valid() ? fdopendir(readable.get()) : nullptr;
    if (!entries) {
      KeepErrno(path, errno);
      return std::nullopt;
    }
    (void)readable.Release();
    std::vector<std::string> names;
    for (const dirent* entry = readdir(entries); entry; entry = readdir(entries)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    (void)closedir(entries);
    return names;
  }

  const std::optional<std::string> mount_;
  Status result_ = Ok();
  int kept_ = 0;  // files and folders that stay, except folders that stay because of what is in them
};

}  // namespace

Status RemoveTree(const fs::path& path) {
  if (!path.has_filename() && path.has_relative_path()) return RemoveTree(path.parent_path());
  const UniqueFd folder(
      open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) return Remover(path, folder.get()).result();
  return errno == ENOENT ? Ok() : FileError(ErrorCode::kCannotWrite, "remove", path, errno);
}

}  // namespace tony
