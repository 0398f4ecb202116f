// `tony history JOB --export`: writes by hand what the job's processes write for TonY's portal and Dr. Elephant.
#pragma once

#include "runtime/base/result.h"
#include "runtime/records/job_records.h"

namespace tony {

// Prints where. Returns the exit code; kInvalid: the job was submitted without a folder for it.
Result<int> ExportHistory(const JobRecords& records, bool json);

}  // namespace tony
