// How a connection's bytes go through its socket: as they are, or through TLS (runtime/net/tls.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace tony {

// Owns its socket: non-blocking, close-on-exec, connected or with its connect() still under way. No method blocks, none
// calls back. Loop thread only.
class Channel {
 public:
  // What came of one try to move bytes.
  struct Step {
    enum class Kind { kMoved, kWaitsToRead, kWaitsToWrite, kEnded };
    Kind kind = Kind::kMoved;
    size_t bytes = 0;  // kMoved: at least 1
    Error why = {};    // kEnded; kNotPermitted: the peer is not who it should be, and was sent nothing
  };
  virtual ~Channel() = default;
  virtual int socket() const = 0;  // to wait for what a step waits for
  virtual Step Read(char* to, size_t most) = 0;
  virtual Step Write(std::string_view bytes) = 0;  // after a wait: the same bytes again, and perhaps more behind them
  virtual bool HasMore() const = 0;                // Read() moves bytes although the socket may not be readable
  virtual void ShutDown() = 0;                     // both ways; the socket is readable then
};

std::unique_ptr<Channel> MakePlainChannel(UniqueFd socket);

// Of one side of TLS: for sockets that it has accepted, or with which it connects.
using MakeChannel = std::function<Result<std::unique_ptr<Channel>>(UniqueFd socket)>;

}  // namespace tony
