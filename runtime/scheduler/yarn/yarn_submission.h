// What the ResourceManager is asked to run for a job: its application master.
#pragma once

#include "runtime/base/result.h"
#include "runtime/hadoop/rm_client.h"
#include "runtime/scheduler/yarn/yarn_cluster.h"
#include "runtime/store/job_records.h"

namespace tony {

// Of the job's records alone: whoever repeats a submit asks for the same.
Result<hadoop::Submission> SubmissionOf(const YarnCluster& cluster, const JobRecords& records);

}  // namespace tony
