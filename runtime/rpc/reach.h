// The way to an AM, for its executors and clients.
//
// The job's token goes to the other end with the first call, so it matters who that is. Nobody but the job's user can
// listen in the job's folder (0700), and the kernel says who does. A TCP port is free for anybody the moment a master
// dies: nothing is told there but through TLS, when the master has shown its certificate.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/net/frame_connection.h"

namespace tony {

// The way to the AM of the job in `folder`; to a host and port by `tls`, and then connect() may still be under way.
// Null: its queue is full, which is no sign of its death; try again after a Pause. Never blocks. kUnavailable: nobody
// listens there. kNotPermitted: nobody that may be told the token does: a user other than this process's, the folder's
// owner and root, or at a port without TLS.
Result<std::unique_ptr<Channel>> ReachAm(const std::filesystem::path& folder, const Address& am,
                                         const MakeChannel& tls);

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
