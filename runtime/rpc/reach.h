// The way to an AM, for its executors and clients.
//
// The job's token goes to the other end with the first call, so it matters who that is. Nobody but the job's user can
// listen in the job's folder (0700), and the kernel says who does. A TCP port is free for anybody the moment a master
// dies: nothing is told there. An encrypted way to other hosts belongs here, beside the socket.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/base/address.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// A connected, non-blocking, close-on-exec socket to the AM of the job in `folder`. Nothing: its queue is full, which
// is no sign of its death; try again after a Pause. Never blocks. kUnavailable: nobody listens there. kNotPermitted:
// nobody that may be told the token does: a user other than this process's, the folder's owner and root, or behind TCP.
Result<std::optional<UniqueFd>> ReachAm(const std::filesystem::path& folder, const Address& am);

// Pauses before the next try at a full queue: longer each time, each process its own. Ten thousand executors join
// within a second, and the queue holds some thousands (net.core.somaxconn).
class QueuePause {
 public:
  QueuePause();
  Duration Next();

 private:
  Duration longest_;
  unsigned random_;
};

}  // namespace tony
