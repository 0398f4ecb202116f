#include "am/job_clock.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/store/machine_boot.h"

namespace tony::am {

Instant NowOfJob(const std::optional<JobFolder::KeptClock>& kept, const OwnClocks& own, std::optional<Instant> newest) {
  if (kept && !own.boot.empty() && kept->boot == own.boot) return Instant(own.since_boot + kept->ahead);
  return newest ? std::max(own.wall, *newest) : own.wall;
}

void UseJobClock(const JobFolder& folder, std::optional<Instant> newest) {
  const auto kept = folder.ReadClock();
  if (!kept.ok()) LogWarn(kept.error().message);
  const OwnClocks own{BootId(), SinceBoot(), WallNow()};
  const Instant now = NowOfJob(kept.ok() ? *kept : std::nullopt, own, newest);
  RealClock::Set(now);
  const JobFolder::KeptClock mine{own.boot, now.time_since_epoch() - own.since_boot};
  if (kept.ok() && *kept && (*kept)->boot == mine.boot) return;
  if (const Status written = folder.WriteClock(mine); !written.ok()) LogWarn(written.error().message);
}

}  // namespace tony::am
