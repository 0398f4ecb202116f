// What is kept of logs that lie elsewhere and may go: beginning and end of stdout and stderr of each attempt that
// failed, and of the chief's, in the job's records:
//
//   logs/worker-3.2   of worker:3, attempt 2: one line of JSON that says what follows, then the text
//
// The master has them from the executor, with the outcome, and writes them before the end of the job. It keeps the
// newest 64. An executor that dies leaves none.
#pragma once

#include <optional>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/log_pieces.h"
#include "runtime/job/outcome.h"
#include "runtime/records/job_records.h"

namespace tony {

// Whether those of an attempt that has ended so are.
bool KeepsLogs(const JobSpec& spec, const TaskId& task, const Outcome& outcome);

// Replaces an earlier one.
Status WriteKeptLogs(const JobRecords& records, const AttemptId& attempt, const std::vector<LogExcerpt>& logs);
Status RemoveKeptLogs(const JobRecords& records, const AttemptId& attempt);  // harmless if there are none
Result<std::vector<AttemptId>> ListKeptLogs(const JobRecords& records);
// Nothing: there are none. kInvalid: they cannot be read.
Result<std::optional<std::vector<LogExcerpt>>> ReadKeptLogs(const JobRecords& records, const AttemptId& attempt);

}  // namespace tony
