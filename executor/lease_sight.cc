#include "executor/lease_sight.h"

#include <algorithm>

namespace tony::executor {

void LeaseSight::Read(const std::optional<SeenLease>& record, Instant now) {
  if (refusal_ && record && record->epoch > refusal_->epoch) {
    alive_->until = refusal_->until;
    refusal_.reset();
  }
  const bool is_first = !record_ && alive_;
  if (record && record != record_ && !is_first) {
    // An AM that is not the leader does not renew its record, so it has become the leader again.
    if (refusal_) alive_.reset();
    Sign(now);
  }
  record_ = record;
  looked_ = now;
  refusal_.reset();
}

void LeaseSight::Unreadable(Instant now) {
  Sign(now);
  looked_ = now;
  refusal_.reset();
}

void LeaseSight::MarkNotLeader(Epoch epoch, Instant now) {
  if (record_ && record_->epoch > epoch) return;
  if (!alive_) return;
  const Instant until = refusal_ ? refusal_->until : alive_->until;
  refusal_ = Refusal{std::max(epoch, refusal_ ? refusal_->epoch : epoch), until};
  alive_->until = std::min(alive_->until, now);
}

void LeaseSight::Heard(Instant when, Instant now) {
  alive_ = Alive{when, now + record_fresh_};
  record_.reset();
  looked_ = now;
  refusal_.reset();
}

void LeaseSight::Sign(Instant now) {
  const bool unbroken = alive_ && (now < alive_->until || looked_ < alive_->until);
  alive_ = Alive{unbroken ? alive_->since : now, now + record_fresh_};
}

namespace {

// The interval between two reads of the lease record in HDFS, by any of a job's executors. At this interval, all
// executors of a job together read 200 times a second. These reads do not disturb the cluster's other jobs, because a
// NameNode answers tens of thousands of reads a second.
constexpr Duration kBetweenReads{5};
constexpr Duration kShortest{2'000}, kLongest{10'000};
// The highest time limit of one read. A healthy NameNode answers within milliseconds.
constexpr Duration kLongestRead{5'000};

// Returns the number of tasks before `task` in the order of the spec.
int PlaceOf(const JobSpec& spec, const TaskId& task) {
  int place = task.index;
  for (const RoleSpec& role : spec.roles) {
    if (role.name == task.role) break;
    place += role.instances;
  }
  return place;
}

}  // namespace

LeasePace LeasePace::OfSharedStore(const JobSpec& spec, const TaskId& task) {
  const int tasks = std::max(1, spec.TotalTasks());
  LeasePace pace;
  pace.longest_ = std::clamp(spec.timers.record_fresh * 2 / 3, Duration{1}, kLongest);
  pace.shortest_ = std::min(kShortest, pace.longest_);
  pace.turn_ = std::min(kBetweenReads * tasks, pace.longest_);
  pace.moment_ = pace.turn_ * (PlaceOf(spec, task) % tasks) / tasks;
  return pace;
}

Duration LeasePace::ReadLimit(const Timers& timers) {
  return std::clamp(timers.record_fresh / 4, Duration{1}, kLongestRead);
}

Instant LeasePace::Next(Instant now, Duration delay) const {
  if (!is_shared()) return now + delay;
  const Instant end = now + std::min(delay, longest_);
  const Instant next = OwnMomentFrom(end);
  return next > end && next - turn_ > now ? next - turn_ : next;
}

Instant LeasePace::OwnMomentFrom(Instant when) const {
  const Duration passed = (when.time_since_epoch() - moment_) % turn_;
  return passed == Duration{0} ? when : when + turn_ - passed;
}

}  // namespace tony::executor
