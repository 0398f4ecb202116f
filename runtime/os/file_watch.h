// Tells when files in a folder appear, are replaced or grow (inotify), so that nobody polls for them.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"

namespace tony {

// Calls `on_change` on the loop after any entry directly in `folder` was created, written or renamed to, but for names
// with a leading dot, the temporary ones. Several changes may be told by one call. Ends with the handle. kUnavailable
// when the user's limit of watches is reached (128 on many machines): look from time to time then.
Result<std::unique_ptr<EventLoop::Handle>> WatchFolder(EventLoop& loop, const std::filesystem::path& folder,
                                                       EventLoop::Callback on_change);

}  // namespace tony
