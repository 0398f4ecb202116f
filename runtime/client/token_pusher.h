// Pushes fresh tokens of the cluster to a job, so that the job outlives the tokens with which it was submitted. No
// credentials of the user leave this machine, except the tokens.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/backend/arbiter.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/executor_protocol.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Gets fresh tokens and pushes them to the job's AM, even to an AM that cannot lead because its tokens have ended. If
// the AM cannot be reached, the tokens become a record of the job, which the AM reads within seconds. Blocks for
// Kerberos, the cluster and the AM. nullopt: the job uses no tokens. The errors are those of the records, those of
// Arbiter::PrepareTokenPush(), and the error of an AM that refuses the tokens.
struct TokenPushResult {
  TokensReply reply;
  // Why the tokens are only in the record; empty: the AM has answered.
  std::string in_record;
};
Result<std::optional<TokenPushResult>> PushFreshTokens(const Arbiter& arbiter, const JobRecords& records);

// Pushes fresh tokens whenever a quarter of the tokens' life has passed, for a client that follows a job. When the
// client dies, the job has three quarters of that life left. A client that begins to follow later pushes at once. Also
// pushes within seconds if no AM leads the job, because YARN starts an AM container with the tokens of the submit,
// which may have ended. A failed push is retried, and its reason is reported once. Loop thread only; the pushes run on
// another thread. `arbiter` must outlive the object.
class TokenPusher {
 public:
  // `without_am` is the time that another AM gets to lead the job, before tokens are pushed to it.
  TokenPusher(EventLoop& loop, const JobRecords& records, const Arbiter& arbiter,
              std::function<void(const std::string&)> on_note, Duration without_am = Duration(5000))
      : loop_(loop),
        records_(records),
        arbiter_(arbiter),
        on_note_(std::move(on_note)),
        without_am_(without_am),
        thread_(loop) {}

  // Called with each status of the job. `is_led`: a leading AM has sent the status. Ends the pushes when the job has
  // ended.
  void See(const JobStatus& status, bool is_led);
  // Called when the AM has not answered.
  void OnAmLost();

 private:
  void PushAfter(Duration pause);
  void PushInTime(Duration longest_without_am);
  void Push();
  void Take(const Result<std::optional<TokenPushResult>>& pushed);

  EventLoop& loop_;
  const JobRecords records_;
  const Arbiter& arbiter_;
  const std::function<void(const std::string&)> on_note_;
  const Duration without_am_;
  // The times at which the job's newest tokens were issued, and end.
  Instant issued_{};
  Instant until_{};
  bool is_led_ = true;
  bool is_told_ = false;  // the reason of the failed pushes
  bool is_over_ = false;  // the job has ended
  EventLoop::Timer timer_;
  // This member is the last, so that its thread ends before the other members are destroyed.
  SideThread thread_;
};

}  // namespace tony
