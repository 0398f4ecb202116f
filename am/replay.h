// The start of an AM: the clock that all AMs of the job share, and the state according to the journal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "am/core/job.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// Returns the job after all `decisions`. Returns kInvalid if a decision does not follow from the earlier ones; the
// message contains that decision.
Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions);

// Sets the RealClock to the time by the job's clock (core/job_clock.h), and saves the clock for the next AM. Errors are
// only logged, because a job can run without a saved clock.
void UseJobClock(const JobRecords& records, std::optional<Instant> newest);

// After this call a failed CHECK ends the process with kFailedCheck, and with one line in the log that names the
// expression and the job. The supervisor of the AM then ends the job with that line as the reason, because the next AM
// would fail again. `before` is called with the line before the process ends.
void LeaveOnFailedCheck(const JobId& job, std::function<void(const std::string& line)> before = nullptr);

}  // namespace tony::am
