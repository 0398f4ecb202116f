// The outputs that a job's chief left in $TONY_OUTPUT_FILE. They are read from disk; no process is queried.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/job/outputs.h"
#include "runtime/job/sweep.h"
#include "runtime/records/job_records.h"

namespace tony {

// The outputs have no members if no attempt succeeded, or if the program wrote nothing.
struct JobOutputs : Outputs {
  // The chief's newest successful attempt; nullopt: no attempt of the chief succeeded.
  std::optional<AttemptId> attempt;
};

// Returns the outputs of an ended job with this `status`. Returns kInvalid if the outputs cannot be returned; the
// message names the task, the file and the problem.
Result<JobOutputs> ReadOutputs(const JobRecords& records, const JobStatus& status);

// If a successful job has outputs that cannot be returned as they were written, returns a text with their names and the
// reasons. Otherwise returns an empty text.
std::string OutputsProblem(const JobRecords& records, const JobStatus& status);

// Returns the status document. If the outputs have a problem, it includes "outputs_problem".
std::string StatusDocument(const JobRecords& records, const JobStatus& status);

// ---- sweep_view.cc: the trials of a sweep, from the records of its job and of the jobs that it resumes

struct SweepView {
  Sweep sweep;
  // The number of trials that run at the same time.
  int parallel = 0;
  std::vector<TrialRow> trials;  // the best first
};

// Returns nullopt if the job is not a sweep, or if its records cannot be read.
std::optional<SweepView> ViewSweep(const JobRecords& records, const JobStatus& status);

// Adds the member "sweep" to the status document of a job. The document of another job stays unchanged.
std::string WithSweep(std::string document, const JobRecords& records, const JobStatus& status);

}  // namespace tony
