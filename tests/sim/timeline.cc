#include "tests/sim/timeline.h"

#include <algorithm>

namespace tony::sim {

void Timeline::At(Instant when, std::function<void()> what) {
  due_.emplace(std::pair(std::max(when, now_), ++asked_), std::move(what));
}

bool Timeline::Step() {
  if (due_.empty()) return false;
  auto next = due_.extract(due_.begin());
  now_ = next.key().first;
  ++steps_;
  next.mapped()();
  return true;
}

namespace {

constexpr int64_t kMillion = 1'000'000;

}  // namespace

Instant OwnClock::At(Instant truth) const {
  const Duration age = truth - began_;
  return truth + offset_ + Duration(drift_ == 0 ? 0 : age.count() * drift_ / kMillion);
}

// Division leaves the guess a millisecond or two off.
Instant OwnClock::TruthAt(Instant own) const {
  const Duration age = own - began_ - offset_;
  Instant truth = drift_ == 0 ? own - offset_ : began_ + Duration(age.count() * kMillion / (kMillion + drift_));
  while (At(truth) < own) truth += Duration(1);
  while (At(truth - Duration(1)) >= own) truth -= Duration(1);
  return truth;
}

}  // namespace tony::sim
