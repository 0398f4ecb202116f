#include "am/core/job_now.h"

#include <algorithm>

namespace tony::am {

Instant NowOfJob(const std::optional<KeptClock>& kept, const OwnClocks& own, std::optional<Instant> newest) {
  if (kept && !own.boot.empty() && kept->boot == own.boot) return Instant(own.since_boot + kept->ahead);
  return newest ? std::max(own.wall, *newest) : own.wall;
}

}  // namespace tony::am
