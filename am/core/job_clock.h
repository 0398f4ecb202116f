// The clock of a job: its AMs share it, one after the other. Deadlines, delays and back-offs are in the journal as
// points on this clock, so it must neither stand still nor step while there is no AM. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/base/time.h"

namespace tony::am {

struct OwnClocks {
  std::string boot;  // "": not known
  Duration since_boot{0};
  Instant wall;
};

// The time by the job's clock. On the boot where `kept` was saved the saved clock goes on. On another boot wall time is
// used, never before `newest`, the time of the newest decision: so nothing that was decided takes longer than it was
// meant to.
inline Instant NowOfJob(const std::optional<KeptClock>& kept, const OwnClocks& own, std::optional<Instant> newest) {
  if (kept && !own.boot.empty() && kept->boot == own.boot) return Instant(own.since_boot + kept->ahead);
  return newest ? std::max(own.wall, *newest) : own.wall;
}

}  // namespace tony::am
