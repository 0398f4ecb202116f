// What a job's chief left in $TONY_OUTPUT_FILE, from what is on the disk: no process is asked.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outputs.h"
#include "runtime/records/job_records.h"

namespace tony {

struct JobOutputs : Outputs {        // no members also where the program wrote nothing
  std::optional<AttemptId> attempt;  // the chief's newest that succeeded; nothing: none has
};

// `status`: of the job, which has ended. kInvalid, where nothing can be had, names task and file, and what is wrong.
Result<JobOutputs> ReadOutputs(const JobRecords& records, const JobStatus& status);

// What of the outputs of a job that succeeded cannot be had as it was written, and why; empty: all can, or the job has
// not succeeded.
std::string OutputsProblem(const JobRecords& records, const JobStatus& status);

// The status document, with "outputs_problem" where there is one.
std::string StatusDocument(const JobRecords& records, const JobStatus& status);

}  // namespace tony
