// A conversation with the leading AM over one connection. The conversation first sends the new owner and the requested
// kill, if the caller has set them, and then watches the job. It is used only on the thread of the event loop. The sink
// is called from the loop, never from inside the constructor.
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

// The parts of a status that change without a new `seq`. Clients report a status if its `seq` or one of these is new.
struct UnnumberedNews {
  std::string delay, trouble;
  std::optional<Instant> tokens_until;
  bool tokens_are_overdue = false;
  bool operator==(const UnnumberedNews&) const = default;
};
inline UnnumberedNews UnnumberedNewsOf(const JobStatus& status) {
  return {status.delay, status.trouble, status.tokens_until, status.tokens_are_overdue};
}

class AmConversation {
 public:
  struct Opening {
    std::filesystem::path folder;  // folder of the job
    Address am;
    MakeChannel tls;  // from Arbiter::WayToAm()
    std::string token;
    std::optional<Claim> attach;
    std::optional<KillRequest> kill;
    // The token of the watcher that begins to watch; empty: the client has no token.
    WatcherToken watcher;
    // The interval at which the tasks' usage is reported; 0: only changes are reported.
    Duration usage_interval{0};
  };
  struct Sink {
    // Called with the answer to `attach`. The AM has already recorded the new owner.
    std::function<void(bool)> on_attached;
    // Called with the answer to `kill`. The AM has already recorded the request, except a plain kill that it could not
    // write.
    std::function<void(KillAnswer)> on_kill;
    // Called with the first status after the answers to `attach` and `kill`, and then after each change of the status.
    // With `usage_interval`, also called at that interval.
    std::function<void(const JobStatus&)> on_status;
    std::function<void(const Error&)> on_lost;  // called at most once, last
    // Called instead of on_lost, and before any other callback, if the process that listens at the AM's address must
    // not get the token (am_connection.h).
    std::function<void(const Error&)> on_mistrust;
  };
  AmConversation(EventLoop& loop, Opening opening, Sink sink);
  // The destructor may be called from inside a callback. No callback is called afterwards.
  ~AmConversation();

  // Sends a kill over the open connection, beside the calls that are under way. on_kill and then on_status receive the
  // answer.
  void SendKill(const KillRequest& kill);

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;
};

}  // namespace tony
