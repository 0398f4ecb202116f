#include "executor/lease_sight.h"

#include <algorithm>

namespace tony::executor {

void LeaseSight::Read(const std::optional<SeenLease>& record, Instant now) {
  if (record && record != record_) Sign(now);
  record_ = record;
  looked_ = now;
}

void LeaseSight::Unreadable(Instant now) {
  Sign(now);
  looked_ = now;
}

void LeaseSight::MarkNotLeader(Instant now) {
  if (alive_) alive_->until = std::min(alive_->until, now);
}

void LeaseSight::Heard(Instant when, Instant now) {
  alive_ = Alive{when, now + record_fresh_};
  looked_ = now;
}

void LeaseSight::Sign(Instant now) {
  const bool unbroken = alive_ && (now < alive_->until || looked_ < alive_->until);
  alive_ = Alive{unbroken ? alive_->since : now, now + record_fresh_};
}

}  // namespace tony::executor
