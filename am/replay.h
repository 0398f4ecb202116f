// A master takes over its job: the clock that all masters of the job share, and the state that the journal says.
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

// kInvalid names the decision that does not follow from those before it.
Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions);

// Sets the RealClock to the time by the job's clock (core/job_clock.h), and keeps that for the next AM. A job can do
// without its file.
void UseJobClock(const JobRecords& records, std::optional<Instant> newest);

// From now on a failed CHECK ends this process with kFailedCheck, and with one line in the log that names the
// expression and the job: whoever supervises the master ends the job with that line, because the next master would fail
// again. `before` is called with the line first.
void LeaveOnFailedCheck(const JobId& job, std::function<void(const std::string& line)> before = nullptr);

}  // namespace tony::am
