// The clock of a job: that of its AMs, one after the other. Deadlines, delays and back-offs are in the journal as
// points on it, so it must neither stand still nor step while there is no AM. Pure.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/kept_clock.h"

namespace tony::am {

struct OwnClocks {
  std::string boot;  // "": not known
  Duration since_boot{0};
  Instant wall;
};

// What it is by the job's clock. On the boot on which that was kept it goes on; elsewhere wall time has to do, but
// never before `newest`, the time of the newest decision: so nothing that was decided takes longer than it was meant
// to.
Instant NowOfJob(const std::optional<KeptClock>& kept, const OwnClocks& own, std::optional<Instant> newest);

}  // namespace tony::am
