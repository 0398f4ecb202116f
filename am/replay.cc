#include "am/replay.h"

#include <unistd.h>

#include <utility>

#include "am/core/job_clock.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/strings.h"
#include "runtime/os/file_system.h"

namespace tony::am {

Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions) {
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  Job job(records.job(), std::move(spec));
  for (size_t i = 0; i < decisions.size(); ++i) {
    const auto actions = job.Evolve(decisions[i]);
    if (actions.ok()) continue;
    const std::string where = StrCat(records.PlaceOfJournal(), ": decision ", i + 1, ", ", Name(decisions[i]));
    return Annotate({ErrorCode::kInvalid, actions.error().message}, where);
  }
  return job;
}

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

void LeaveOnFailedCheck(const JobId& job, std::function<void(const std::string& line)> before) {
  OnFailedCheck([job, before = std::move(before)](const std::string& failure) {
    const std::string line =
        StrCat("internal error in job ", job.value, ": ", failure, "; this is a bug of TonY, please report it");
    LogError(line);
    if (before) before(line);
    _exit(kFailedCheck);
  });
}

}  // namespace tony::am
