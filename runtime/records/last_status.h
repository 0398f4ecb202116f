// The status document of a job that no master writes any more, for whoever brings it to its end.
#pragma once

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Of a job that no master has ruled yet: ACCEPTED, all tasks waiting. A spec that cannot be read leaves out what it
// says: it may be why there is no master.
Result<JobStatus> FreshStatus(const JobRecords& records);

// The last document, or a fresh one, with the owner and the watcher that its master had told others of.
Result<JobStatus> LastStatus(const JobRecords& records);

void EndTask(TaskStatus& task, const Outcome& outcome, Instant now);

// With this verdict. Tasks that ran end with its class.
void EndStatus(JobStatus& status, const Verdict& verdict, Instant now);

}  // namespace tony
