#include "am/job_clock.h"

#include "am/core/job_now.h"
#include "runtime/base/log.h"
#include "runtime/os/machine_boot.h"

namespace tony::am {

void UseJobClock(const JobRecords& records, std::optional<Instant> newest) {
  const auto kept = records.ReadClock();
  if (!kept.ok()) LogWarn(kept.error().message);
  const OwnClocks own{BootId(), SinceBoot(), WallNow()};
  const Instant now = NowOfJob(kept.ok() ? *kept : std::nullopt, own, newest);
  RealClock::Set(now);
  const KeptClock mine{own.boot, now.time_since_epoch() - own.since_boot};
  if (kept.ok() && *kept && (*kept)->boot == mine.boot) return;
  if (const Status written = records.WriteClock(mine); !written.ok()) LogWarn(written.error().message);
}

}  // namespace tony::am
