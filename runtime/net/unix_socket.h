// Unix sockets by folder and name. The path may be longer than the 107 bytes that an address has room for, because it
// is reached by way of an open folder; nor does the path then stand in /proc/net/unix, which every user can read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

struct SocketPlace {
  std::filesystem::path folder;
  std::string name;  // in `folder`, at most 80 bytes
};
std::string ToString(const SocketPlace& place);

enum class SocketKind { kStream, kMessages };

// A listening, non-blocking, close-on-exec socket that its owner alone may connect to (mode 0600). A name that is there
// already is replaced: the caller knows that it is stale. kUnavailable if it cannot be made.
Result<UniqueFd> ListenAt(const SocketPlace& place, SocketKind kind, int backlog);

// A connected, non-blocking, close-on-exec socket. Nothing: the listener's queue is full, which is no sign of its
// death; try again later. Never blocks. kUnavailable: nobody listens there.
Result<std::optional<UniqueFd>> ConnectTo(const SocketPlace& place, SocketKind kind);

void RemoveSocket(const SocketPlace& place);  // its name; harmless if it is gone

}  // namespace tony
