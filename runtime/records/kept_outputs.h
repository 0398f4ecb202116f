// Excerpts of logs in the job's records, because the logs themselves may lie elsewhere and disappear. For each failed
// attempt, and for the chief, an excerpt has the beginning and the end of stdout and stderr:
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

// Replaces excerpts that were written earlier for this attempt.
Status WriteKeptLogs(const JobRecords& records, const AttemptId& attempt, const std::vector<LogExcerpt>& logs);
Status RemoveKeptLogs(const JobRecords& records, const AttemptId& attempt);  // does nothing if none exist
Result<std::vector<AttemptId>> ListKeptLogs(const JobRecords& records);
// Returns nullopt if the attempt has no excerpts. kInvalid: the record is damaged.
Result<std::optional<std::vector<LogExcerpt>>> ReadKeptLogs(const JobRecords& records, const AttemptId& attempt);

// The chief's program may leave results for later readers: one JSON object in $TONY_OUTPUT_FILE
// (work/<task>/<attempt>/tony-output.json). When the program's process has succeeded, the executor keeps a copy in the
// folder of the attempt's logs, and only then keeps and reports the outcome. Therefore every process that knows about
// the success finds the copy.
//
//   output.json      the file, byte for byte; if the file is too long, the members that fit
//   output.left-out  the list of the members that did not fit into output.json
//   output.problem   one line that gives the reason if no copy was kept; it replaces the two others
//
// If none of these files exists, the program wrote nothing. A program may put anything in the place of its output file,
// for example a link or a pipe. TonY never follows the link, never waits for the pipe, and never reads more than
// kMostOutputsRead bytes.

// TonY reads at most this many bytes of the program's file, to find the members that fit.
inline constexpr int64_t kMostOutputsRead = 4 << 20;

// Keeps a copy of `file` for an attempt that has ended, so that no process writes to `file` any more. Returns the
// problems in the file, for the log. Fails if not even output.problem could be written.
Result<std::vector<OutputProblem>> KeepOutputs(const std::filesystem::path& file,
                                               const std::filesystem::path& log_folder);

// Returns nullopt if the program wrote no outputs. kInvalid: the outputs could not be kept, or the copy is damaged.
Result<std::optional<KeptOutputs>> ReadKeptOutputs(const std::filesystem::path& log_folder);

std::filesystem::path KeptOutputsFile(const std::filesystem::path& log_folder);

// The job's outputs as a record of the job; the files above belong to the attempt. The AM received the outputs with the
// outcome of `attempt`, and writes the record before it journals that outcome. A later record replaces an earlier one.
struct RecordedOutputs {
  AttemptId attempt;
  KeptOutputs outputs;
  bool operator==(const RecordedOutputs&) const = default;
};
Status WriteJobOutputs(const JobRecords& records, const RecordedOutputs& recorded);
// Returns nullopt if no outputs were reported; executors of release 0.1 report none. kInvalid: the record cannot be
// read.
Result<std::optional<RecordedOutputs>> ReadJobOutputs(const JobRecords& records);

}  // namespace tony
