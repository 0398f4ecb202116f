#include "runtime/os/files.h"

#include <dirent.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Status Sync(int fd, const fs::path& path) {
  if (fsync(fd) != 0) return FileError(ErrorCode::kCannotWrite, "sync", path, errno);
  return Ok();
}

// Creates one folder. Another process may remove the still empty folder before its mode is set. The function then tries
// again, at most ten times, because more collisions must have another cause.
Status MakeOneFolder(const fs::path& path) {
  for (int tries = 10; tries > 0; --tries) {
    if (mkdir(path.c_str(), 0700) == 0) {
      if (chmod(path.c_str(), 0700) == 0) return Ok();  // the umask may have cleared bits
    } else if (errno == EEXIST) {
      std::error_code error;
      if (fs::is_directory(path, error)) return Ok();
      errno = fs::symlink_status(path, error).type() == fs::file_type::not_found ? ENOENT : ENOTDIR;
    }
    if (errno != ENOENT) break;
  }
  return FileError(ErrorCode::kCannotWrite, "make", path, errno);
}

}  // namespace

Error FileError(ErrorCode code, std::string_view what, const fs::path& path, int error) {
  const std::string text = StrCat(what, " ", path.string(), ": ", ErrnoText(error));
  // If too many descriptors are open, the path is not the cause, and a retry may succeed.
  if (error == EMFILE || error == ENFILE) return UnavailableError(text + LimitNote(error));
  return {code, text};
}

Result<std::string> ReadFile(const fs::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    const bool gone = errno == ENOENT || errno == ENOTDIR;
    const auto code = gone              ? ErrorCode::kNotFound
                      : errno == EACCES ? ErrorCode::kNotPermitted
                                        : ErrorCode::kUnavailable;
    return FileError(code, "open", path, errno);
  }
  return ReadAll(fd.get(), path);
}

Result<std::string> ReadAll(int fd, const fs::path& path) {
  std::string content;
  char buffer[8 << 10];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof buffer);
    if (size == 0) return content;
    if (size > 0) content.append(buffer, size);
    if (size < 0 && errno != EINTR) return FileError(ErrorCode::kUnavailable, "read", path, errno);
  }
}

Result<RegularFile> OpenRegularFile(const fs::path& path, int access, int folder) {
  UniqueFd fd(openat(folder, path.c_str(), access | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (fd.valid() && fstat(fd.get(), &info) == 0) {
    if (!S_ISREG(info.st_mode)) return InvalidError("the path is not a regular file");
    return RegularFile{std::move(fd), info.st_size};
  }
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return NotFoundError(ErrnoText(errno));
    case EACCES:
      return NotPermittedError(ErrnoText(errno));
    case ELOOP:
      return InvalidError("the path is a symbolic link; expected a regular file");
    case ENXIO:   // a socket, or FIFO without reader
    case EISDIR:  // a folder, opened for writing
      return InvalidError("the path is not a regular file");
    default:
      return UnavailableError(ErrnoText(errno), LimitNote(errno));
  }
}

Status WriteAll(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t size = write(fd, content.data(), content.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(ErrorCode::kCannotWrite, "write", path, errno);
    content.remove_prefix(size);
  }
  return Ok();
}

Status WriteNewFile(const fs::path& path, std::string_view content, bool durable) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid() || fchmod(fd.get(), 0600) != 0) return FileError(ErrorCode::kCannotWrite, "make", path, errno);
  TRY(WriteAll(fd.get(), content, path));
  return durable ? Sync(fd.get(), path) : Ok();
}

Status WriteFileByRename(const fs::path& path, std::string_view content, bool durable) {
  const fs::path temporary = path.parent_path() / StrCat(".", path.filename().string(), ".", RandomHex(6));
  Status written = WriteNewFile(temporary, content, durable);
  if (written.ok() && rename(temporary.c_str(), path.c_str()) != 0)
    written = FileError(ErrorCode::kCannotWrite, "replace", path, errno);
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  return durable ? SyncPath(path.parent_path()) : Ok();
}

Status AppendLine(const fs::path& path, std::string_view line) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  if (info.st_size > 0) {
    TRY_ASSIGN(const std::string content, ReadFile(path));
    const size_t whole = content.rfind('\n') + 1;  // 0: no complete line
    if (whole != content.size() && ftruncate(fd.get(), static_cast<off_t>(whole)) != 0)
      return FileError(ErrorCode::kCannotWrite, "remove the incomplete last line of", path, errno);
  }
  return WriteAll(fd.get(), StrCat(line, "\n"), path);
}

bool IsPrivateToUser(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode)) &&
         info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool IsThere(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

Result<bool> TryIsThere(const fs::path& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FileError(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable, "check", path, errno);
}

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  if (path.has_relative_path() && !fs::is_directory(path.parent_path(), error)) TRY(MakeFolder(path.parent_path()));
  return MakeOneFolder(path);
}

Status SyncPath(const fs::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  return Sync(fd.get(), path);
}

Status SyncInParallel(const std::vector<fs::path>& paths) {
  std::vector<Status> synced(paths.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto sync = [&, i] { synced[i] = SyncPath(paths[i]); };
    try {
      threads.emplace_back(sync);
    } catch (const std::system_error&) {  // the user's thread limit is reached
      sync();
    }
  }
  threads.clear();  // joins the threads
  for (const auto& status : synced) TRY(status);
  return Ok();
}

Status SyncHome(const fs::path& home, std::vector<fs::path> folders) {
  folders.push_back(home);
  // If this user may not read the folder above, another user created `home` there, so the names in that folder need no
  // sync.
  if (const fs::path above = home / ".."; access(above.c_str(), R_OK) == 0) folders.push_back(above);
  return SyncInParallel(folders);
}

std::string RandomHex(int bytes) {
  std::string random(static_cast<size_t>(bytes), '\0');
  CHECK(getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()));
  return ToHex(random);
}

namespace {

// The number of bytes per call. The number is large enough that the calls take little time by themselves, and small
// enough that progress is reported every few milliseconds.
constexpr size_t kStep = 8 << 20;
constexpr size_t kBuffer = 1 << 18;

// Returns true if the error means that copy_file_range(2) refuses these two files, or that this kernel lacks the call.
bool IsNotSupported(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EPERM ||
         error == EBADF || error == ETXTBSY;
}

Status CopyByHand(int from, const fs::path& from_path, int to, const fs::path& to_path, const OnCopied& on_copied) {
  const auto buffer = std::make_unique<char[]>(kBuffer);
  for (;;) {
    const ssize_t size = read(from, buffer.get(), kBuffer);
    if (size == 0) return Ok();
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(ErrorCode::kInvalid, "read", from_path, errno);
    TRY(WriteAll(to, {buffer.get(), static_cast<size_t>(size)}, to_path));
    TRY(on_copied(size));
  }
}

}  // namespace

Status CopyContent(int from, const fs::path& from_path, int to, const fs::path& to_path, const OnCopied& on_copied) {
  if (ioctl(to, FICLONE, from) == 0) {
    struct stat info {};
    return fstat(to, &info) == 0 ? on_copied(info.st_size) : Ok();
  }
  for (bool any = false;; any = true) {
    const ssize_t size = copy_file_range(from, nullptr, to, nullptr, kStep, 0);
    // If the first call returns 0, the file is empty, or its file system reports no sizes, e.g. /proc. Reading the file
    // decides.
    if (size == 0 && any) return Ok();
    if (size == 0 || (size < 0 && IsNotSupported(errno))) return CopyByHand(from, from_path, to, to_path, on_copied);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EIO) return FileError(ErrorCode::kInvalid, "read", from_path, errno);
    if (size < 0) return FileError(ErrorCode::kCannotWrite, "write", to_path, errno);
    TRY(on_copied(size));
  }
}

namespace {

// The greatest number of passes over a folder in which another process creates or removes entries.
constexpr int kMostPasses = 100;

// Returns the number of the mount that the file is on. st_dev does not suffice: a folder that is mounted a second time
// has the same st_dev, and an overlay has several values of st_dev.
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
  // `folder` is the descriptor of the folder that contains the entry.
  Remover(const fs::path& path, int folder) : mount_(MountOf(folder)) {
    if (mount_)
      Remove(folder, path.filename(), path);
    else
      Keep(FileError(ErrorCode::kCannotWrite, "find the mount of", path, ENOENT));
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
      return Keep({ErrorCode::kCannotWrite, StrCat("cannot remove ", path.string(),
                                                   ": a file system is mounted there; unmount it, and try again")});
    for (int looks = 0; looks < kMostPasses; ++looks) {
      if (!Empty(entry.get(), path)) return;
      if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return;
      if (errno != ENOTEMPTY) return KeepErrno(path, errno);
    }
    KeepErrno(path, ENOTEMPTY);
  }

  // Removes everything in the folder; returns true if nothing is left. If this user may not write or read the folder,
  // it is made accessible first. The mode is changed through the descriptor, because another process may have replaced
  // the folder by a link.
  bool Empty(int folder, const fs::path& path) {
    if (faccessat(folder, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0)
      (void)chmod(StrCat("/proc/self/fd/", folder).c_str(), S_IRWXU);
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
  // The number of files and folders that stay. A folder that stays only because of its content is not counted.
  int kept_ = 0;
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
