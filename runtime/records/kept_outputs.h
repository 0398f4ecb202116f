// What is kept of logs that lie elsewhere and may go: beginning and end of stdout and stderr of each attempt that
// failed, and of the chief's, in the job's records:
//
//   logs/worker-3.2   of worker:3, attempt 2: one line of JSON that says what follows, then the text
//
// The master has them from the executor, with the outcome, and writes them before the end of the job. It keeps the
// newest 64. An executor that dies leaves none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/job/log_pieces.h"
#include "runtime/job/outcome.h"
#include "runtime/job/outputs.h"
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

// What the chief's program leaves for those who come after it: one JSON object in $TONY_OUTPUT_FILE
// (work/<task>/<attempt>/tony-output.json). When its process has ended well, the executor keeps a copy beside the
// attempt's logs, before it keeps and reports the outcome: whoever knows that the attempt succeeded finds it there.
//
//   output.json      the file, byte for byte; of one that is too long, the members that fit
//   output.left-out  beside it: which members did not fit
//   output.problem   instead: one line, why there is no copy
//
// None: the program wrote nothing. A program may put anything in the place of its file, also a link or a pipe: it is
// never followed, never waited for, and never read beyond the bound.

inline constexpr int64_t kMostOutputsRead = 4 << 20;  // to find what fits

// Of an attempt that has ended: nothing writes to `file` any more. What is wrong with it, for the log. Failed: none of
// the files could be written.
Result<std::vector<OutputProblem>> KeepOutputs(const std::filesystem::path& file,
                                               const std::filesystem::path& log_folder);

// Nothing: the program wrote none. kInvalid says why it could not be kept, or is none now.
Result<std::optional<KeptOutputs>> ReadKeptOutputs(const std::filesystem::path& log_folder);

std::filesystem::path KeptOutputsFile(const std::filesystem::path& log_folder);

// The job's outputs, as its master has heard them with the outcome of this attempt: a record of the job, where the
// files above are the attempt's. Written before the outcome is journalled; a later one replaces it.
struct RecordedOutputs {
  AttemptId attempt;
  KeptOutputs outputs;
  bool operator==(const RecordedOutputs&) const = default;
};
Status WriteJobOutputs(const JobRecords& records, const RecordedOutputs& recorded);
// Nothing: none were reported, as by the executors of 0.1. kInvalid: the record cannot be read.
Result<std::optional<RecordedOutputs>> ReadJobOutputs(const JobRecords& records);

}  // namespace tony
