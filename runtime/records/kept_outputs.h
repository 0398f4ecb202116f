// Excerpts of logs in the job's records, because the logs themselves may lie on other machines and disappear. Excerpts
// are kept for each failed attempt and for the chief. They have the beginning and the end of stdout and stderr:
//
//   logs/worker-3.2   of worker:3, attempt 2: one line of JSON that describes the parts, then the text
//
// The AM receives the excerpts from the executor together with the outcome, and writes them before the job ends. The AM
// keeps the newest 64. An executor that dies leaves none.
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

// Returns true if excerpts are kept for an attempt of `task` that ended with `outcome`.
bool ShouldKeepLogs(const JobSpec& spec, const TaskId& task, const Outcome& outcome);

// Writes the excerpts of an attempt; they replace earlier excerpts of the same attempt.
Status WriteKeptLogs(const JobRecords& records, const AttemptId& attempt, const std::vector<LogExcerpt>& logs);
Status RemoveKeptLogs(const JobRecords& records, const AttemptId& attempt);  // does nothing if none exist
Result<std::vector<AttemptId>> ListKeptLogs(const JobRecords& records);
// Returns nullopt if the attempt has no excerpts. kInvalid: the record is damaged.
Result<std::optional<std::vector<LogExcerpt>>> ReadKeptLogs(const JobRecords& records, const AttemptId& attempt);

// The outputs of the chief. Its program may leave results for later readers: one JSON object in $TONY_OUTPUT_FILE
// (work/<task>/<attempt>/tony-output.json). When the program's process has succeeded, the executor first copies this
// file into the folder of the attempt's logs, and then records and reports the outcome. Therefore the copy exists
// before any other process can know about the success.
//
//   output.json      the file, byte for byte; if the file is too long, the members that fit
//   output.left-out  the list of the members that did not fit into output.json
//   output.problem   one line with the reason why no copy was kept; then the other two files do not exist
//
// If none of these files exists, the program wrote nothing. The program may leave anything under the name of its output
// file, for example a link or a pipe. TonY never follows such a link, never waits for a pipe, and never reads more than
// kMostOutputsRead bytes.

// The maximum number of bytes that TonY reads of the program's output file. It is larger than the kept size, because
// TonY searches a long file for members that fit into the kept size.
inline constexpr int64_t kMostOutputsRead = 4 << 20;

// Copies the output file `file` into the folder of the attempt's logs. The attempt must have ended, because no process
// may write to `file` meanwhile. Returns the problems in the file, which the caller logs. Fails only if not even
// output.problem could be written.
Result<std::vector<OutputProblem>> KeepOutputs(const std::filesystem::path& file,
                                               const std::filesystem::path& log_folder);

// Returns the copy of the outputs; nullopt if the program wrote none. kInvalid: the outputs could not be kept, or the
// copy is damaged.
Result<std::optional<KeptOutputs>> ReadKeptOutputs(const std::filesystem::path& log_folder);

std::filesystem::path KeptOutputsFile(const std::filesystem::path& log_folder);

// The outputs of the job as one of the job's records, while the files above belong to the attempt. The AM receives the
// outputs with the outcome of `attempt`, and writes this record before it journals the outcome. A later record replaces
// an earlier one.
struct RecordedOutputs {
  AttemptId attempt;
  KeptOutputs outputs;
  bool operator==(const RecordedOutputs&) const = default;
};
Status WriteJobOutputs(const JobRecords& records, const RecordedOutputs& recorded);
// Returns nullopt if no outputs were reported, as by executors of release 0.1. kInvalid: the record cannot be read.
Result<std::optional<RecordedOutputs>> ReadJobOutputs(const JobRecords& records);

}  // namespace tony
