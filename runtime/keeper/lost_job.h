// Jobs that have ended without a record of it in their folder: their machine was started anew while they ran, or their
// folder could not be written (unwritten_end.h). Nothing of them lives, and nothing may be started for them, because
// that would run them a second time.
#pragma once

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// True where the job has ended without a record of that in its folder. For a caller that holds keeper.lock.
bool HasEndedUnrecorded(const JobRecords& records);

// The same for others: nobody keeps it.
bool IsLost(const JobRecords& records);

// How such a job ended. Writes nothing.
Result<JobStatus> LostStatus(const JobRecords& records);

// Writes that as the final status, for ever, into the log of ended jobs and the history for TonY's portal. The caller
// holds keeper.lock.
Status EndLostJob(const JobRecords& records);

// Takes the lock for it. Harmless if the job is not lost, or somebody else does the same now.
Status SettleIfLost(const JobRecords& records);

}  // namespace tony
