#include "runtime/os/file_lock.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// The interval between attempts to get a lock. The lock is polled, because a wait in the kernel could not be abandoned
// when a person interrupts the program.
constexpr Duration kLook{10};

// Describes a lock of the whole file that belongs to the open file description, not to the process. Forked children
// inherit such a lock, and closing another descriptor of the file does not release it. Unlike a lock of flock(2), it
// can be queried without being taken.
struct flock WholeFile(LockKind kind) {
  struct flock lock = {};
  lock.l_type = kind == LockKind::kExclusive ? F_WRLCK : F_RDLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool TryLock(int fd, LockKind kind) {
  struct flock lock = WholeFile(kind);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Returns true if `path` is still the name of the locked file. A former holder may have removed the file, and another
// process may have created a new one.
bool IsStillNamed(int fd, const fs::path& path) {
  struct stat held {
  }, named{};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

}  // namespace

Result<UniqueFd> LockFile(const fs::path& path, LockKind kind, const std::function<bool()>& give_up) {
  for (;;) {
    UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
    bool locked = TryLock(fd.get(), kind);
    while (!locked && (errno == EAGAIN || errno == EACCES || errno == EINTR)) {
      if (give_up()) return UnavailableError("cannot lock ", path.string(), ": another process holds the lock");
      std::this_thread::sleep_for(kLook);
      locked = TryLock(fd.get(), kind);
    }
    if (!locked) return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
    if (IsStillNamed(fd.get(), path)) return fd;
  }
}

Result<UniqueFd> TryLockFile(const fs::path& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return FileError(ErrorCode::kCannotWrite, "open", path, errno);
  if (TryLock(fd.get(), LockKind::kExclusive)) return fd;
  if (errno == EAGAIN || errno == EACCES)
    return UnavailableError("cannot lock ", path.string(), ": another process holds the lock");
  return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
}

bool IsFileLocked(const fs::path& path) {
  const UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = WholeFile(LockKind::kExclusive);
  return fd.valid() && fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Status ShareLock(const UniqueFd& lock, const fs::path& path) {
  if (TryLock(lock.get(), LockKind::kShared)) return Ok();
  return FileError(ErrorCode::kCannotWrite, "lock", path, errno);
}

namespace {

class InotifyWatch : public EventLoop::Handle {
 public:
  InotifyWatch(EventLoop& loop, UniqueFd fd, OnFolderEvents on_events)
      : fd_(std::move(fd)), on_events_(std::move(on_events)) {
    watch_ = loop.WhenReadable(fd_.get(), [this] { Read(); });
  }

 private:
  void Read() {
    uint32_t shown = 0, hidden = 0;
    alignas(inotify_event) char buffer[16384];
    ssize_t size;
    while ((size = read(fd_.get(), buffer, sizeof buffer)) > 0) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        (event->len > 0 && event->name[0] == '.' ? hidden : shown) |= event->mask;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if ((shown | hidden) == 0) return;
    // The callback is copied, because the call may destroy this handle.
    const auto on_events = on_events_;
    on_events(shown, hidden);
  }

  UniqueFd fd_;
  OnFolderEvents on_events_;
  EventLoop::FdWatch watch_;  // after fd_: released before fd_ closes
};

}  // namespace

Result<std::unique_ptr<EventLoop::Handle>> WatchFolderEvents(EventLoop& loop, const std::filesystem::path& folder,
                                                             uint32_t events, OnFolderEvents on_events) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kUnavailable, "watch", folder, errno);
  if (inotify_add_watch(fd.get(), folder.c_str(), events | IN_ONLYDIR) < 0)
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "watch", folder, errno);
  return std::unique_ptr<EventLoop::Handle>(std::make_unique<InotifyWatch>(loop, std::move(fd), std::move(on_events)));
}

Result<std::unique_ptr<EventLoop::Handle>> WatchFolder(EventLoop& loop, const std::filesystem::path& folder,
                                                       EventLoop::Callback on_change) {
  return WatchFolderEvents(loop, folder, IN_CREATE | IN_MODIFY | IN_MOVED_TO,
                           [on_change = std::move(on_change)](uint32_t shown, uint32_t) {
                             if (shown != 0) on_change();
                           });
}

}  // namespace tony
