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

}  // namespace tony::sim
