// The outputs that a job's chief left in $TONY_OUTPUT_FILE. They are read from disk; no process is queried.
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outputs.h"
#include "runtime/records/job_records.h"

namespace tony {

// The outputs have no members if no attempt succeeded, or if the program wrote nothing.
struct JobOutputs : Outputs {
  // The chief's newest successful attempt; nullopt: none succeeded.
  std::optional<AttemptId> attempt;
};

// Returns the outputs of an ended job with this `status`. A kInvalid error means that no outputs can be returned, and
// names task, file and problem.
Result<JobOutputs> ReadOutputs(const JobRecords& records, const JobStatus& status);

// Returns which outputs of a job that succeeded cannot be returned as written, and why. Empty if all can, or if the job
// has not succeeded.
std::string OutputsProblem(const JobRecords& records, const JobStatus& status);

// Returns the status document, with "outputs_problem" if the outputs have a problem.
std::string StatusDocument(const JobRecords& records, const JobStatus& status);

}  // namespace tony
