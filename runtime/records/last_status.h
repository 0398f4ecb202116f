// The status document of a job that no longer has an AM. The process that finalizes such a job uses it.
#pragma once

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns the status of a job that has never had an AM: ACCEPTED, with all tasks waiting. If the spec cannot be read,
// the fields from the spec stay empty, because an unreadable spec may be the reason why the job has no AM.
Result<JobStatus> InitialStatus(const JobRecords& records);

// Returns the last status document, with the owner and the watcher that the AM had published. Returns InitialStatus()
// if the AM had written none.
Result<JobStatus> LastStatus(const JobRecords& records);

void EndTask(TaskStatus& task, const Outcome& outcome, Instant now);

// Ends the job with this verdict. The outcome of tasks that still ran gets the verdict's class.
void EndStatus(JobStatus& status, const Verdict& verdict, Instant now);

}  // namespace tony
