// The clock of a job, which all its successive AMs share. The journal stores deadlines, delays and back-offs as points
// on this clock. Therefore the clock must neither stand still nor jump while no AM runs. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/base/time.h"

namespace tony::am {

struct OwnClocks {
  std::string boot;  // empty: unknown
  Duration since_boot{0};
  Instant wall;
};

// Returns the time by the job's clock. On the boot where `kept` was saved, the saved clock continues. On another boot
// the result is the wall time, or the time of the newest decision (`newest`) if that is later. Otherwise a wall clock
// that was set back would make delays and limits longer than intended.
inline Instant NowOfJob(const std::optional<KeptClock>& kept, const OwnClocks& own, std::optional<Instant> newest) {
  if (kept && !own.boot.empty() && kept->boot == own.boot) return Instant(own.since_boot + kept->ahead);
  return newest ? std::max(own.wall, *newest) : own.wall;
}

}  // namespace tony::am
