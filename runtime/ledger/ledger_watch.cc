#include "runtime/ledger/ledger_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/unique_fd.h"
#include "runtime/os/files.h"

namespace tony {
namespace {

constexpr uint32_t kGoneEvents = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT;
// Lookers open files for reading only and close them without IN_CLOSE_WRITE.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

LedgerChange ChangeOf(uint32_t mask) {
  if (mask & kGoneEvents) return LedgerChange::kGone;
  // An overflow may have swallowed a close.
  return mask & (IN_CLOSE_WRITE | IN_Q_OVERFLOW) ? LedgerChange::kClosed : LedgerChange::kEntries;
}

class Watch : public EventLoop::Handle {
 public:
  Watch(EventLoop& loop, UniqueFd fd, std::function<void(LedgerChange)> on_change)
      : fd_(std::move(fd)), on_change_(std::move(on_change)) {
    watch_ = loop.WhenReadable(fd_.get(), [this] { Read(); });
  }

 private:
  void Read() {
    bool changed = false;
    LedgerChange most = LedgerChange::kEntries;
    alignas(inotify_event) char buffer[16384];
    ssize_t size;
    while ((size = read(fd_.get(), buffer, sizeof buffer)) > 0) {
      for (ssize_t at = 0; at < size;) {
        const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
        changed = true;
        most = std::max(most, ChangeOf(event->mask));
        at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      }
    }
    if (!changed) return;
    const auto on_change = on_change_;  // it may destroy this handle
    on_change(most);
  }

  UniqueFd fd_;
  std::function<void(LedgerChange)> on_change_;
  EventLoop::FdWatch watch_;  // after fd_: released before the descriptor closes
};

}  // namespace

Result<std::unique_ptr<EventLoop::Handle>> WatchLedger(EventLoop& loop, const std::filesystem::path& folder,
                                                       std::function<void(LedgerChange)> on_change) {
  UniqueFd fd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!fd.valid() || inotify_add_watch(fd.get(), folder.c_str(), kEvents) < 0)
    return FileError(ErrorCode::kUnavailable, "watch", folder, errno);
  return std::unique_ptr<EventLoop::Handle>(std::make_unique<Watch>(loop, std::move(fd), std::move(on_change)));
}

}  // namespace tony
