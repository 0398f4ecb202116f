#include "runtime/os/files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/shortage.h"
#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Status Sync(int fd, const fs::path& path) {
  if (fsync(fd) != 0) return FileError(ErrorCode::kCannotWrite, "sync", path, errno);
  return Ok();
}

// Somebody may remove it, empty as it is, before it has its mode; who is met by that so often is met by something else.
Status MakeOneFolder(const fs::path& path) {
  for (int tries = 10; tries > 0; --tries) {
    if (mkdir(path.c_str(), 0700) == 0) {
      if (chmod(path.c_str(), 0700) == 0) return Ok();  // the umask may have taken bits away
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
  // No fault of the path, and worth another try.
  if (error == EMFILE || error == ENFILE) return {ErrorCode::kUnavailable, text + LimitNote(error)};
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
    if (!S_ISREG(info.st_mode)) return Error{ErrorCode::kInvalid, "it is no regular file"};
    return RegularFile{std::move(fd), info.st_size};
  }
  switch (errno) {
    case ENOENT:
    case ENOTDIR:
      return Error{ErrorCode::kNotFound, ErrnoText(errno)};
    case EACCES:
      return Error{ErrorCode::kNotPermitted, ErrnoText(errno)};
    case ELOOP:
      return Error{ErrorCode::kInvalid, "it is a symbolic link, expected a regular file"};
    case ENXIO:   // a socket, or a FIFO that nobody reads
    case EISDIR:  // and it was to be written
      return Error{ErrorCode::kInvalid, "it is no regular file"};
    default:
      return Error{ErrorCode::kUnavailable, StrCat(ErrnoText(errno), LimitNote(errno))};
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
    const size_t whole = content.rfind('\n') + 1;  // 0: there is none
    if (whole != content.size() && ftruncate(fd.get(), static_cast<off_t>(whole)) != 0)
      return FileError(ErrorCode::kCannotWrite, "cut a torn line off", path, errno);
  }
  return WriteAll(fd.get(), StrCat(line, "\n"), path);
}

bool IsOursAlone(const fs::path& path) {
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
  return FileError(errno == EACCES ? ErrorCode::kNotPermitted : ErrorCode::kUnavailable, "look at", path, errno);
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

Status SyncTogether(const std::vector<fs::path>& paths) {
  std::vector<Status> synced(paths.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto sync = [&, i] { synced[i] = SyncPath(paths[i]); };
    try {
      threads.emplace_back(sync);
    } catch (const std::system_error&) {  // this user may have no more threads
      sync();
    }
  }
  threads.clear();  // joins
  for (const auto& status : synced) TRY(status);
  return Ok();
}

Status SyncHome(const fs::path& home, std::vector<fs::path> folders) {
  folders.push_back(home);
  // Who may not read it has not made home there.
  if (const fs::path above = home / ".."; access(above.c_str(), R_OK) == 0) folders.push_back(above);
  return SyncTogether(folders);
}

std::string RandomHex(int bytes) {
  std::string random(static_cast<size_t>(bytes), '\0');
  CHECK(getrandom(random.data(), random.size(), 0) == static_cast<ssize_t>(random.size()));
  return ToHex(random);
}

}  // namespace tony
