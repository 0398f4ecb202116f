// The clock of one simulated process: it was set a little wrong when the process began, and runs a little fast or slow.
#pragma once

#include <cstdint>

#include "runtime/base/time.h"

namespace tony::sim {

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
