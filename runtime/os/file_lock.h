// Locks of whole files, between processes. They end with the descriptor, also when its process is killed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

enum class LockKind { kShared, kAlone };

// Makes the file if there is none, waits for the lock as long as `give_up` does not say otherwise, and then for certain
// holds the file that has this name. kUnavailable: gave up; kCannotWrite.
Result<UniqueFd> LockFile(const std::filesystem::path& path, LockKind kind, const std::function<bool()>& give_up);

// Takes the lock of the file, making it, or says kUnavailable if it is held, by whomever. Held until the descriptor is
// closed, copies of it in forked children included. Other than those of LockFile() it can be asked about without being
// taken: IsLockTaken() never makes a TakeLock() elsewhere fail.
Result<UniqueFd> TakeLock(const std::filesystem::path& path);
bool IsLockTaken(const std::filesystem::path& path);

// Makes a lock that is held alone a shared one, with no moment in between. `path` is for the message.
Status ShareLock(const UniqueFd& lock, const std::filesystem::path& path);

// Tells when files in a folder appear, are replaced or grow (inotify), so that nobody polls for them.

// Calls `on_events` on the loop with the masks of inotify(7) that came, those of entries with a leading dot apart: these
// are mostly temporary. The folder's own end and an overflow are shown. Ends with the handle. kNotFound; kUnavailable when
// the user's limit of watches is reached (128 on many machines).
using OnFolderEvents = std::function<void(uint32_t shown, uint32_t hidden)>;
Result<std::unique_ptr<EventLoop::Handle>> WatchFolderEvents(EventLoop& loop, const std::filesystem::path& folder,
                                                             uint32_t events, OnFolderEvents on_events);

// Calls `on_change` on the loop after any entry directly in `folder` was created, written or renamed to, but for names
// with a leading dot, the temporary ones. Several changes may be told by one call. Ends with the handle. kUnavailable
// when the user's limit of watches is reached (128 on many machines): look from time to time then.
Result<std::unique_ptr<EventLoop::Handle>> WatchFolder(EventLoop& loop, const std::filesystem::path& folder,
                                                       EventLoop::Callback on_change);

}  // namespace tony
