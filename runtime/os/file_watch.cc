#include "runtime/os/file_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

class InotifyWatch : public EventLoop::Handle {
 public:
  InotifyWatch(EventLoop& loop, UniqueFd fd, EventLoop::Callback on_change)
      : fd_(std::move(fd)), on_change_(std::move(on_change)) {
    watch_ = loop.WhenReadable(fd_.get(), [this] { Read(); });
  }

 private:
  void Read() {
    bool changed = false;
    alignas(inotify_event) char buffer[16384];
    ssize_t size;
    while ((size = read(fd_.get(), buffer, sizeof buffer)) > 0) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        // Without a name it is the folder's own end or an overflow: worth a look as well.
        if (event->len == 0 || event->name[0] != '.') changed = true;
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (!changed) return;
    const auto on_change = on_change_;  // it may destroy this handle
    on_change();
  }

  UniqueFd fd_;
  EventLoop::Callback on_change_;
  EventLoop::FdWatch watch_;  // after fd_: released before the descriptor closes
};

}  // namespace

Result<std::unique_ptr<EventLoop::Handle>> WatchFolder(EventLoop& loop, const std::filesystem::path& folder,
                                                       EventLoop::Callback on_change) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid()) return FileError(ErrorCode::kUnavailable, "watch", folder, errno);
  if (inotify_add_watch(fd.get(), folder.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_ONLYDIR) < 0)
    return FileError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "watch", folder, errno);
  return std::unique_ptr<EventLoop::Handle>(std::make_unique<InotifyWatch>(loop, std::move(fd), std::move(on_change)));
}

}  // namespace tony
