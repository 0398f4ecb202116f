#include "runtime/client/log_watch.h"

#include <sys/inotify.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "runtime/base/strings.h"

namespace tony {

Status LogWatch::Start(EventLoop& loop, EventLoop::Callback on_change) {
  inotify_ = UniqueFd(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify_.valid()) return Error{ErrorCode::kUnavailable, StrCat("inotify: ", ErrnoText(errno))};
  watch_ = loop.WhenReadable(inotify_.get(), [this, on_change = std::move(on_change)] {
    Drain();
    on_change();
  });
  AddFolders();
  return Ok();
}

void LogWatch::AddFolders() {
  Add(folder_.path());
  const std::filesystem::path logs = folder_.path() / "logs";
  Add(logs);
  std::error_code error;
  // Tasks, and below them attempts.
  for (std::filesystem::recursive_directory_iterator entry(logs, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error)) Add(entry->path());
  }
}

void LogWatch::Add(const std::filesystem::path& folder) {
  if (watched_.contains(folder.string())) return;
  const bool added = inotify_add_watch(inotify_.get(), folder.c_str(), IN_CREATE | IN_MODIFY | IN_MOVED_TO) >= 0;
  if (added) watched_.insert(folder.string());
}

void LogWatch::Drain() {
  alignas(inotify_event) char events[4096];
  while (read(inotify_.get(), events, sizeof events) > 0) {
  }
}

}  // namespace tony
