// The job as its journal says.
#pragma once

#include <vector>

#include "am/core/job.h"
#include "runtime/base/result.h"
#include "runtime/records/decisions.h"
#include "runtime/records/job_records.h"

namespace tony::am {

// kInvalid names the decision that does not follow from those before it.
Result<Job> Replay(const JobRecords& records, const std::vector<Decision>& decisions);

}  // namespace tony::am
