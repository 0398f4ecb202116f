// Tells those who wait in the ledger when it may be their turn (inotify).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"

namespace tony {

enum class LedgerChange {
  kEntries,  // one was added, admitted or removed
  kClosed,   // an entry's last descriptor was closed; the kernel lets its lock go just *after* it says so
  kGone,     // the folder was removed or renamed; nothing more will be told
};

// Calls `on_change` on the loop; those who only look at entries wake nobody. Ends with the handle. kUnavailable when
// the user's limit of inotify instances is reached.
Result<std::unique_ptr<EventLoop::Handle>> WatchLedger(EventLoop& loop, const std::filesystem::path& folder,
                                                       std::function<void(LedgerChange)> on_change);

}  // namespace tony
