// Virtual time: what is due happens in the order of its time, and at the same time in the order it was asked for.
// Nothing is ever cancelled; whoever no longer wants to hear of something ignores it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "runtime/base/time.h"

namespace tony::sim {

class Timeline {
 public:
  // Any time will do; that of a run must not depend on when it is made.
  static constexpr Instant kStart{Duration(1'800'000'000'000)};

  Instant now() const { return now_; }
  Duration age() const { return now_ - kStart; }
  void At(Instant when, std::function<void()> what);  // what is past is due now
  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  bool Step();  // false: nothing is due any more
  int64_t steps() const { return steps_; }

 private:
  Instant now_ = kStart;
  int64_t asked_ = 0;
  int64_t steps_ = 0;
  std::map<std::pair<Instant, int64_t>, std::function<void()>> due_;
};

}  // namespace tony::sim
