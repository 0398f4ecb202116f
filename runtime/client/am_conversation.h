// One connection to a ruling AM: tells it of a wanted kill, then watches the job. Thrift's client blocks, so it has a
// thread of its own; everything it learns is told on the loop. Made, used and destroyed on the loop thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/job_status.h"
#include "runtime/store/job_folder.h"

namespace tony {

class AmConversation {
 public:
  struct Opening {
    Endpoint am;
    std::string token;
    std::optional<KillRequest> kill;
    Duration usage_interval{0};  // tell of what tasks use so often; 0: changes only
  };
  // `on_status` is called for the status at the beginning and for each change. `on_lost` is called at most once, last.
  AmConversation(EventLoop& loop, Opening opening, std::function<void(const JobStatus&)> on_status,
                 std::function<void(const Error&)> on_lost);
  ~AmConversation();  // interrupts the call under way; no callback comes after

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;
};

}  // namespace tony
