// This process's clock and the job's.
#pragma once

#include <optional>

#include "runtime/base/time.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// Sets the RealClock to the time by the job's clock (job_now.h), and keeps that for the next AM. A job can do without
// its file.
void UseJobClock(const JobRecords& records, std::optional<Instant> newest);

}  // namespace tony::am
