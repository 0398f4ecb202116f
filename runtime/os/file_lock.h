// Locks of whole files, shared between processes. A lock ends when its descriptor is closed, also by the death of its
// process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

enum class LockKind { kShared, kExclusive };

// Creates the file if it is missing, and waits for the lock until `give_up` returns true. After success the file at
// `path` is the locked file, even if the file was replaced during the wait. kUnavailable: `give_up` returned true.
// kCannotWrite: the file cannot be opened or locked.
Result<UniqueFd> LockFile(const std::filesystem::path& path, LockKind kind, const std::function<bool()>& give_up);

// Takes an exclusive lock without waiting; creates the file if it is missing. kUnavailable: this process or another one
// holds the lock. The lock lasts until the descriptor and all its copies in forked children are closed. IsFileLocked()
// checks the lock without taking it, so it never makes a TryLockFile() in another process fail.
Result<UniqueFd> TryLockFile(const std::filesystem::path& path);
bool IsFileLocked(const std::filesystem::path& path);

// Turns an exclusive lock into a shared one atomically: no other process can take the lock in between. `path` is for
// the message.
Status ShareLock(const UniqueFd& lock, const std::filesystem::path& path);

// The following functions report when files in a folder appear, are replaced or grow (inotify), so that callers need
// not poll.

// Calls `on_events` on the loop with the masks of inotify(7) that occurred. `hidden` collects the events of entries
// with a leading dot, which are mostly temporary files. `shown` collects all other events, including the removal of the
// folder itself and an overflow of the event queue. Destroying the handle ends the watch. kNotFound: the folder does
// not exist. kUnavailable: e.g. the user's limit of watches is reached (128 on many machines).
using OnFolderEvents = std::function<void(uint32_t shown, uint32_t hidden)>;
Result<std::unique_ptr<EventLoop::Handle>> WatchFolderEvents(EventLoop& loop, const std::filesystem::path& folder,
                                                             uint32_t events, OnFolderEvents on_events);

// Calls `on_change` on the loop after an entry directly in `folder` was created, written or renamed to. Entries with a
// leading dot are ignored, because they are temporary. A single call may report several changes. Destroying the handle
// ends the watch. kUnavailable: e.g. the user's limit of watches is reached (128 on many machines); poll the folder in
// that case.
Result<std::unique_ptr<EventLoop::Handle>> WatchFolder(EventLoop& loop, const std::filesystem::path& folder,
                                                       EventLoop::Callback on_change);

}  // namespace tony
