// A master takes over its job: the clock that all masters of the job share, and the state that the journal says.
#pragma once

#include <optional>
#include <vector>

#include "am/core/job.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// kInvalid names the decision that does not follow from those before it.
Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions);

// Sets the RealClock to the time by the job's clock (core/job_clock.h), and keeps that for the next AM. A job can do
// without its file.
void UseJobClock(const JobRecords& records, std::optional<Instant> newest);

}  // namespace tony::am
