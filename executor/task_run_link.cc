// The link to the AM.
//
//   Searching --- a record not tried yet, or the back-off is over ---> Registering --- Registered ---> Linked
//       ^                                                                   |                            |
//       +---------- connection lost, not the leader, older epoch -----------+----------------------------+
//   any --- the AM refuses the attempt ---> Closed
//
// If the lease record is on this machine, each try follows a read of the record. If the record is in a store that the
// job shares, the last AM is tried without waiting for a read: another process may serve at the same address.
#include <algorithm>
#include <utility>

#include "executor/task_run.h"
#include "runtime/base/strings.h"

namespace tony::executor {
namespace {

// Delays before the executor connects to the same AM again. The AM may be alive, and only the connection may have
// broken.
constexpr Duration kFirstRetry{100};
constexpr Duration kLongestRetry{1000};
// The time for one more try to reach the AM before the task is stopped. The try is needed if this executor was
// suspended, because the executor then notices the loss of the link late. `tony submit` requires that lost_after
// exceeds cutoff_after + grace by a margin, and this time is shorter than that margin.
constexpr Duration kLastTry{1000};

}  // namespace

Caller TaskRun::Self() const {
  Caller self = identity_;
  self.generation = generation_;
  self.epoch = epoch_;
  return self;
}

Duration TaskRun::Spread(Duration delay) const {
  return delay + Duration(static_cast<int64_t>(static_cast<double>(delay.count()) * jitter_ / 2));
}

bool TaskRun::IsCurrent(int64_t link) const {
  return link == link_number_ && (link_ == Link::kRegistering || link_ == Link::kLinked);
}

void TaskRun::On(const Begun&) {
  heard_at_ = now_;
  noticed_at_ = now_;
  RequestLeaseRead();
}

void TaskRun::On(const Registered& event) {
  if (!IsCurrent(event.link)) return;
  if (event.epoch < epoch_) {
    Search();
    return;
  }
  epoch_ = event.epoch;
  tried_->epoch = event.epoch;
  link_ = Link::kLinked;
  Hear(register_sent_);
  read_at_.reset();
  read_delay_ = Duration{0};
  beat_at_ = now_ + timers_.heartbeat;
  Do(UnwatchLease{});
  Await();
  Publish();
  if (state_ == State::kEnded) Report();
  // The phase may have changed since the call to Register was sent.
  if (phase() == Phase::kRunning || phase() == Phase::kStopping) HeartbeatNow();
}

void TaskRun::On(const CommandReceived& event) {
  if (!IsCurrent(event.link) || link_ != Link::kLinked) return;
  Hear(await_sent_);
  if (event.command.number > since_ && event.command.kind != Command::Kind::kNone) {
    since_ = event.command.number;
    ExecuteCommand(event.command);
  }
  // The command may have ended this link.
  if (state_ != State::kLeft && IsCurrent(event.link)) Await();
}

void TaskRun::On(const HeartbeatAnswered& event) {
  if (!IsCurrent(event.link) || link_ != Link::kLinked) return;
  Hear(event.sent);
  beat_at_ = now_ + timers_.heartbeat;
}

void TaskRun::On(const ValuesAcknowledged& event) {
  if (!IsCurrent(event.link) || link_ != Link::kLinked || values_sent_ == 0) return;
  Hear(publish_sent_);
  values_acknowledged_ = std::exchange(values_sent_, 0);
  Publish();
  if (state_ == State::kEnded) Report();
}

void TaskRun::On(const OutcomeAcknowledged& event) {
  if (!IsCurrent(event.link) || link_ != Link::kLinked) return;
  Hear(report_sent_);
  if (departure_) LeaveWith(departure_->exit_code);
}

void TaskRun::On(const Refused& event) {
  if (!IsCurrent(event.link)) return;
  switch (event.reason) {
    case RefusalReason::kNotLeader:
      Search();
      lease_.MarkNotLeader(tried_->epoch, now_);
      return;
    case RefusalReason::kStaleEpoch:
    case RefusalReason::kBadRequest:
      Search();
      return;
    case RefusalReason::kBadToken:
    case RefusalReason::kWrongJob:
      // This AM is not the AM that started the attempt, because another job's AM may get the port of a dead AM.
      if (state_ != State::kWaiting) {
        Search();
        return;
      }
      [[fallthrough]];
    case RefusalReason::kUnknownAttempt:
    case RefusalReason::kStaleAttempt:
    case RefusalReason::kBadProtocol:
      link_ = Link::kClosed;
      read_at_.reset();
      beat_at_.reset();
      LeaveAfterStop({OutcomeClass::kKilled, std::nullopt,
                      StrCat("refused by the application master: ", ToString(event.reason)), ""},
                     {kLeftRefused});
      return;
  }
}

void TaskRun::On(const ConnectionLost& event) {
  if (!IsCurrent(event.link)) return;
  if (event.crowded) crowded_at_ = now_;
  Search();
}

void TaskRun::On(const LeaseRead& event) {
  lease_.Read(event.record, now_);
  // A missing lease record means that no AM has started yet, so the executor waits for the record.
  if (!event.record && link_ == Link::kSearching && !pace_.is_shared()) Do(WatchLease{});
  if (link_ == Link::kClosed || !event.record || event.record->epoch < epoch_) return;
  const bool is_new = !tried_ || tried_->epoch != event.record->epoch || tried_->am != event.record->am;
  if (is_new) {
    if (link_ == Link::kLinked) Lose();
    retry_delay_ = Duration{0};
    Try(*event.record);
  } else if (link_ == Link::kSearching && now_ >= retry_at_) {
    Try(*event.record);
  }
}

void TaskRun::On(const LeaseUnreadable&) {
  lease_.Unreadable(now_);
  if (link_ == Link::kSearching && tried_ && now_ >= retry_at_) Try(SeenLease(*tried_));
}

// Without its folder, the job cannot get another AM, so the executor leaves. An AM that is linked decides itself,
// because it checks the folder, too.
void TaskRun::On(const FolderGone&) {
  if (link_ == Link::kLinked) return;
  LeaveAfterStop({OutcomeClass::kInfra, std::nullopt, "the job's folder was removed", ""}, {kLeftFolderGone});
}

// The link was good until now, so the first retry may follow at once.
void TaskRun::Lose() {
  lease_.Heard(heard_at_, now_);
  noticed_at_ = now_;
  retry_at_ = now_;
  retry_delay_ = Duration{0};
  beat_at_.reset();
}

void TaskRun::Search() {
  const bool is_lost_now = link_ == Link::kLinked;
  if (is_lost_now) Lose();
  link_ = Link::kSearching;
  if (!pace_.is_shared()) {
    Do(WatchLease{});
    RequestLeaseRead();
    return;
  }
  if (is_lost_now) read_at_ = pace_.First(now_);
  if (tried_ && now_ >= retry_at_) Try(SeenLease(*tried_));
}

void TaskRun::RequestLeaseRead() {
  Do(ReadLease{});
  ReadLater();
}

void TaskRun::ReadLater() {
  read_delay_ = std::clamp(read_delay_ * 2, pace_.shortest(), pace_.longest());
  read_at_ = pace_.Next(now_, Spread(read_delay_));
}

void TaskRun::Try(const SeenLease& lease) {
  tried_ = lease;
  epoch_ = std::max(epoch_, lease.epoch);
  retry_delay_ = std::clamp(retry_delay_ * 2, kFirstRetry, kLongestRetry);
  retry_at_ = now_ + Spread(retry_delay_);
  if (!read_at_) ReadLater();
  link_ = Link::kRegistering;
  ++link_number_;
  values_sent_ = 0;
  register_sent_ = now_;
  Do(UseAm{link_number_, lease.am});
  Do(SendRegister{Self(), {endpoint_, phase(), pid_}});
}

// Registers with the same AM again, on a new link.
void TaskRun::RegisterAgain() {
  Lose();
  Try(SeenLease(*tried_));
}

void TaskRun::HeartbeatNow() {
  if (link_ != Link::kLinked) return;
  beat_at_.reset();
  Do(SendHeartbeat{Self(), {phase(), pid_, usage_}, now_});
}

void TaskRun::Publish() {
  if (link_ != Link::kLinked || values_sent_ > 0 || values_.size() == values_acknowledged_) return;
  publish_sent_ = now_;
  values_sent_ = values_.size();
  Do(SendValues{Self(), values_});
}

// Reports the outcome only after all values have been acknowledged, because the AM ignores values that arrive after the
// outcome.
void TaskRun::Report() {
  if (link_ != Link::kLinked || values_.size() > values_acknowledged_) return;
  report_sent_ = now_;
  Do(SendOutcome{Self(), *outcome_});
}

void TaskRun::Await() {
  await_sent_ = now_;
  Do(SendAwait{Self(), since_});
}

// An answer proves only that the AM lived when the call was sent, because the answer may have waited while this
// executor was suspended.
void TaskRun::Hear(Instant sent) { heard_at_ = std::max(heard_at_, sent); }

std::optional<Instant> TaskRun::CutOffDeadline() const {
  const bool unheard = link_ == Link::kSearching || link_ == Link::kRegistering;
  const bool has_work = state_ == State::kWaiting || state_ == State::kStarting || state_ == State::kRunning;
  if (!unheard || !has_work || !lease_.alive()) return std::nullopt;
  const Instant since = std::max({heard_at_, crowded_at_, lease_.alive()->since});
  const Instant at = std::max(since + timers_.cutoff_after, noticed_at_ + kLastTry);
  if (at >= lease_.alive()->until) return std::nullopt;
  return at;
}

std::optional<Instant> TaskRun::RetryDeadline() const {
  if (!pace_.is_shared() || link_ != Link::kSearching || !tried_) return std::nullopt;
  return retry_at_;
}

std::optional<Instant> TaskRun::OrphanDeadline() const {
  const bool unheard = link_ == Link::kSearching || link_ == Link::kRegistering;
  if (!unheard || departure_) return std::nullopt;
  return std::max(heard_at_, crowded_at_) + timers_.orphan_timeout;
}

}  // namespace tony::executor
