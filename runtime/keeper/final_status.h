// The status document of a job that no AM writes any more: made by the keeper when no AM can be kept running, and by
// whoever finds a job whose machine has been started anew.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// The last document of the job, or one made from its spec, ended with `verdict`. A task that ran ends as its executor
// kept it, else with the verdict's class. A document that has a verdict already is returned as it is.
Result<JobStatus> EndedStatus(const JobRecords& records, const Verdict& verdict, Instant now);

// The same, not ended: `trouble` says what it waits for. Tasks whose outcome their executor kept have ended.
Result<JobStatus> TroubledStatus(const JobRecords& records, const std::string& trouble);

// FAILED, class infra, with the last lines of am.log.
Verdict InfraVerdict(const JobRecords& records, const std::string& reason);

std::string LastLinesOfAm(const JobRecords& records);  // of am.log, some twenty; may be empty

}  // namespace tony
