#include "tests/support/file_front.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "runtime/base/check.h"

namespace tony {
namespace {

FileHook* hook = nullptr;
thread_local bool is_inside = false;  // inside the hook

class Inside {
 public:
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
};

template <class Make>
long Do(FileCall call, const Make& make) {
  FileHook* const now = is_inside ? nullptr : hook;
  if (!now) return make(call);
  const Inside inside;
  const auto lock = now->Lock(call);
  if (const int error = now->Before(call); error != 0) {
    errno = error;
    return -1;
  }
  const FileCall told = call;
  std::string path, to;
  if (call.path) call.path = (path = now->Instead(call.path)).c_str();
  if (call.to) call.to = (to = now->Instead(call.to)).c_str();
  const long result = make(call);
  const int error = errno;
  if (result >= 0) now->After(told, result);
  errno = error;
  return result;
}

// Returns whether the hook lets a call fail whose result is not a number.
bool Fails(const FileCall& call) {
  return Do(call, [](const FileCall&) { return 0; }) != 0;
}

template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int OpenAt(int folder, const char* path, int flags, mode_t mode) {
  return static_cast<int>(
      Do({.name = "open", .fd = folder, .path = path, .flags = static_cast<unsigned>(flags)},
         [=](const FileCall& call) { return syscall(SYS_openat, folder, call.path, flags, mode); }));
}

int MoveAt(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return static_cast<int>(Do(
      {.name = "rename", .fd = from_folder, .path = from, .to = to, .flags = flags},
      [=](const FileCall& call) { return syscall(SYS_renameat2, from_folder, call.path, to_folder, call.to, flags); }));
}

int LinkAt(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  return static_cast<int>(Do({.name = "link", .fd = from_folder, .path = from, .to = to}, [=](const FileCall& call) {
    return syscall(SYS_linkat, from_folder, call.path, to_folder, call.to, flags);
  }));
}

int SymlinkAt(const char* target, int folder, const char* path) {
  return static_cast<int>(Do({.name = "symlink", .fd = folder, .path = path},
                             [=](const FileCall& call) { return syscall(SYS_symlinkat, target, folder, call.path); }));
}

int RemoveAt(int folder, const char* path, int flags) {
  return static_cast<int>(Do({.name = "unlink", .fd = folder, .path = path},
                             [=](const FileCall& call) { return syscall(SYS_unlinkat, folder, call.path, flags); }));
}

int MakeFolderAt(int folder, const char* path, mode_t mode) {
  return static_cast<int>(Do({.name = "mkdir", .fd = folder, .path = path},
                             [=](const FileCall& call) { return syscall(SYS_mkdirat, folder, call.path, mode); }));
}

int ChangeModeAt(int folder, const char* path, mode_t mode) {
  return static_cast<int>(Do({.name = "chmod", .fd = folder, .path = path},
                             [=](const FileCall& call) { return syscall(SYS_fchmodat, folder, call.path, mode); }));
}

int StatAt(int folder, const char* path, struct stat* info, int flags) {
  return static_cast<int>(Do({.name = "stat", .fd = folder, .path = path}, [=](const FileCall& call) {
    return syscall(SYS_newfstatat, folder, call.path, info, flags);
  }));
}

int AccessAt(int folder, const char* path, int mode) {
  return static_cast<int>(Do({.name = "access", .fd = folder, .path = path},
                             [=](const FileCall& call) { return syscall(SYS_faccessat, folder, call.path, mode); }));
}

int DoFd(std::string_view name, long number, int fd, unsigned argument = 0) {
  return static_cast<int>(Do({.name = name, .fd = fd}, [=](const FileCall&) { return syscall(number, fd, argument); }));
}

int Control(int fd, int command, void* argument) {
  const bool locks = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
  if (!locks) return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
  return static_cast<int>(
      Do({.name = "lock", .fd = fd}, [=](const FileCall&) { return syscall(SYS_fcntl, fd, command, argument); }));
}

}  // namespace

void SetFileHook(FileHook* new_hook) {
  const auto lock = [] {
    if (hook) hook->mutex_.lock();
  };
  const auto unlock = [] {
    if (hook) hook->mutex_.unlock();
  };
  static const int error = pthread_atfork(lock, unlock, unlock);
  CHECK(error == 0);
  hook = new_hook;
}

std::string PathOfFd(int fd) {
  char target[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<size_t>(size)) : "";
}

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return OpenAt(folder, path, flags, mode);
}

DIR* opendir(const char* path) {
  const int fd = OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  return fd < 0 ? nullptr : fdopendir(fd);
}

FILE* fopen64(const char* path, const char* mode) {
  FILE* file = nullptr;
  Do({.name = "open", .fd = AT_FDCWD, .path = path}, [&](const FileCall& call) {
    file = Next<FILE*(const char*, const char*)>("fopen64")(call.path, mode);
    return file ? 0 : -1;
  });
  return file;
}

FILE* fopen(const char* path, const char* mode) { return fopen64(path, mode); }

int close(int fd) { return DoFd("close", SYS_close, fd); }

ssize_t read(int fd, void* to, size_t size) {
  return Do({.name = "read", .fd = fd}, [=](const FileCall&) { return syscall(SYS_read, fd, to, size); });
}

ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  return Do({.name = "read", .fd = fd}, [=](const FileCall&) { return syscall(SYS_pread64, fd, to, size, offset); });
}

dirent* readdir(DIR* folder) {
  if (Fails({.name = "list", .fd = dirfd(folder)})) return nullptr;
  return Next<dirent*(DIR*)>("readdir")(folder);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  return Do({.name = "write", .fd = fd, .bytes = bytes, .size = size},
            [=](const FileCall& call) { return syscall(SYS_write, fd, bytes, call.size); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return Do({.name = "write", .fd = fd, .bytes = bytes, .size = size, .offset = offset},
            [=](const FileCall& call) { return syscall(SYS_pwrite64, fd, bytes, call.size, offset); });
}

ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  return Do({.name = "write", .fd = to},
            [=](const FileCall&) { return syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags); });
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  int error = 0;
  const long done = Do({.name = "write", .fd = fd}, [&](const FileCall&) {
    error = Next<int(int, off_t, off_t)>("posix_fallocate")(fd, offset, size);
    return error == 0 ? 0 : -1;
  });
  return done == 0 || error != 0 ? error : errno;
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  return static_cast<int>(
      Do({.name = "write", .fd = fd}, [=](const FileCall&) { return syscall(SYS_fallocate, fd, mode, offset, size); }));
}

int ftruncate(int fd, off_t size) noexcept {
  return static_cast<int>(Do({.name = "resize", .fd = fd, .size = static_cast<size_t>(size)},
                             [=](const FileCall&) { return syscall(SYS_ftruncate, fd, size); }));
}

int mkdir(const char* path, mode_t mode) noexcept { return MakeFolderAt(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char* path, mode_t mode) noexcept { return MakeFolderAt(folder, path, mode); }

int rename(const char* from, const char* to) noexcept { return MoveAt(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return MoveAt(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  return MoveAt(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) noexcept { return LinkAt(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  return LinkAt(from_folder, from, to_folder, to, flags);
}
int symlink(const char* target, const char* path) noexcept { return SymlinkAt(target, AT_FDCWD, path); }
int symlinkat(const char* target, int folder, const char* path) noexcept { return SymlinkAt(target, folder, path); }

int unlink(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char* path, int flags) noexcept { return RemoveAt(folder, path, flags); }
int rmdir(const char* path) noexcept { return RemoveAt(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char* path) noexcept {
  const int done = RemoveAt(AT_FDCWD, path, 0);
  return done != 0 && errno == EISDIR ? RemoveAt(AT_FDCWD, path, AT_REMOVEDIR) : done;
}

int chmod(const char* path, mode_t mode) noexcept { return ChangeModeAt(AT_FDCWD, path, mode); }
int fchmodat(int folder, const char* path, mode_t mode, int) noexcept { return ChangeModeAt(folder, path, mode); }
int fchmod(int fd, mode_t mode) noexcept { return DoFd("chmod", SYS_fchmod, fd, mode); }

int fsync(int fd) { return DoFd("fsync", SYS_fsync, fd); }
int fdatasync(int fd) { return DoFd("fdatasync", SYS_fdatasync, fd); }
int syncfs(int fd) noexcept { return DoFd("syncfs", SYS_syncfs, fd); }

int flock(int fd, int operation) noexcept { return DoFd("lock", SYS_flock, fd, static_cast<unsigned>(operation)); }
int fcntl(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return Control(fd, command, argument);
}

int stat(const char* path, struct stat* info) noexcept { return StatAt(AT_FDCWD, path, info, 0); }
int lstat(const char* path, struct stat* info) noexcept { return StatAt(AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW); }
int fstatat(int folder, const char* path, struct stat* info, int flags) noexcept {
  return StatAt(folder, path, info, flags);
}
int fstat(int fd, struct stat* info) noexcept {
  return static_cast<int>(
      Do({.name = "stat", .fd = fd}, [=](const FileCall&) { return syscall(SYS_fstat, fd, info); }));
}
int access(const char* path, int mode) noexcept { return AccessAt(AT_FDCWD, path, mode); }
int faccessat(int folder, const char* path, int mode, int) noexcept { return AccessAt(folder, path, mode); }

ssize_t readlink(const char* path, char* target, size_t size) noexcept {
  return Do({.name = "readlink", .fd = AT_FDCWD, .path = path},
            [=](const FileCall& call) { return syscall(SYS_readlinkat, AT_FDCWD, call.path, target, size); });
}

}  // extern "C"

}  // namespace tony
