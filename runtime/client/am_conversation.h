// A conversation with the leading AM over one connection: sends the new owner and the requested kill, and then watches
// the job. Loop thread only. The sink is called from the loop, never from inside the constructor.
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
    std::filesystem::path folder;  // folder of the job
    Address am;
    MakeChannel tls;  // from Arbiter::WayToAm()
    std::string token;
    std::optional<Claim> attach;
    std::optional<KillRequest> kill;
    // The watcher that begins to watch; empty: the client has no token.
    WatcherToken watcher;
    // How often to report the tasks' usage; 0: report only changes.
    Duration usage_interval{0};
  };
  struct Sink {
    // The answer to `attach`, which the AM has recorded.
    std::function<void(bool)> on_attached;
    // The answer to `kill`. The AM has recorded the request, except a plain kill that it could not write.
    std::function<void(KillAnswer)> on_kill;
    // The first status after the answers, and each change.
    std::function<void(const JobStatus&)> on_status;
    std::function<void(const Error&)> on_lost;  // called at most once, and last
    // Called instead of on_lost, before any other callback, if the listener there must not get the token; see
    // am_connection.h.
    std::function<void(const Error&)> on_mistrust;
  };
  AmConversation(EventLoop& loop, Opening opening, Sink sink);
  // May be called from inside a callback. No callback is called afterwards.
  ~AmConversation();

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;
};

}  // namespace tony
