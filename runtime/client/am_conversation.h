// A conversation with a ruling AM over one connection: tells it of a new owner and of a wanted kill, then watches the
// job. Loop thread only; the sink is called from the loop, never from inside the constructor.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/job/claim.h"
#include "runtime/job/job_status.h"
#include "runtime/net/frame_connection.h"

namespace tony {

class AmConversation {
 public:
  struct Opening {
    std::filesystem::path folder;  // the job's
    Address am;
    MakeChannel tls;  // Arbiter::WayToAm()
    std::string token;
    std::optional<Claim> attach;
    std::optional<KillRequest> kill;
    WatcherToken watcher;        // who looks; empty: somebody who has no name
    Duration usage_interval{0};  // tell of what tasks use so often; 0: changes only
  };
  struct Sink {
    std::function<void(bool)> on_attached;            // the answer to `attach`, which is recorded now
    std::function<void(KillAnswer)> on_kill;          // the answer to `kill`, too
    std::function<void(const JobStatus&)> on_status;  // after these, and for each change
    std::function<void(const Error&)> on_lost;        // at most once, last
    // Instead of on_lost, before anything was told: who listens there may not be told the token; see am_connection.h.
    std::function<void(const Error&)> on_mistrust;
  };
  AmConversation(EventLoop& loop, Opening opening, Sink sink);
  ~AmConversation();  // also from inside a callback; none comes after

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;
};

}  // namespace tony
