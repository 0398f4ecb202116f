// The status document of a job that the keeper must end itself, because no AM can be kept running.
#pragma once

#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/store/job_folder.h"

namespace tony::keeper {

// The last document of the job, or one made from its spec, ended as FAILED with class infra. One that has a verdict
// already is returned as it is.
Result<JobStatus> FailedByInfra(const JobFolder& folder, const std::string& reason, Instant now);

}  // namespace tony::keeper
