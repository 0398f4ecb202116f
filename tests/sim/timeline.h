// Virtual time. Actions run in the order of their times, and actions of one time in the order of the calls that added
// them. An action is never cancelled; its owner ignores it if it does not need it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "runtime/base/time.h"

namespace tony::sim {

class Timeline {
 public:
  // The start of every run. The value is arbitrary, but a run must not depend on the real time.
  static constexpr Instant kStart{Duration(1'800'000'000'000)};

  Instant now() const { return now_; }
  Duration age() const { return now_ - kStart; }
  // A time in the past means now.
  void At(Instant when, std::function<void()> what);
  void After(Duration delay, std::function<void()> what) { At(now_ + delay, std::move(what)); }
  // Runs the next action; false: none is left.
  bool Step();
  int64_t steps() const { return steps_; }

 private:
  Instant now_ = kStart;
  int64_t asked_ = 0;
  int64_t steps_ = 0;
  std::map<std::pair<Instant, int64_t>, std::function<void()>> due_;
};

// The clock of one simulated process. It has an error when the process begins, and runs a little fast or slow.
class OwnClock {
 public:
  OwnClock() = default;  // shows the true time
  // `drift`: what the clock gains, in parts per million.
  OwnClock(Instant began, Duration offset, int64_t drift) : began_(began), offset_(offset), drift_(drift) {}

  OwnClock SetTo(Instant truth, Instant own) const { return {truth, own - truth, drift_}; }
  Instant At(Instant truth) const;
  // Returns the first moment at which the clock shows `own` or more.
  Instant TruthAt(Instant own) const;
  Instant TruthAfter(Instant truth, Duration delay) const { return TruthAt(At(truth) + delay); }

 private:
  Instant began_{};
  Duration offset_{0};
  int64_t drift_ = 0;
};

}  // namespace tony::sim
