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

// The clock of one simulated process: it was set a little wrong when the process began, and runs a little fast or slow.
class OwnClock {
 public:
  OwnClock() = default;  // shows the true time
  // `drift`: how much it gains in a million.
  OwnClock(Instant began, Duration offset, int64_t drift) : began_(began), offset_(offset), drift_(drift) {}

  OwnClock SetTo(Instant truth, Instant own) const { return {truth, own - truth, drift_}; }
  Instant At(Instant truth) const;
  Instant TruthAt(Instant own) const;  // the first moment at which it shows `own` or more
  Instant TruthAfter(Instant truth, Duration delay) const { return TruthAt(At(truth) + delay); }

 private:
  Instant began_{};
  Duration offset_{0};
  int64_t drift_ = 0;
};

}  // namespace tony::sim
