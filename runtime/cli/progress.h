// Texts about a job for people: one line per change while the job runs, and the verdict. Functions with `records` may
// read the job's files; the others are pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/text_table.h"
#include "runtime/client/job_access.h"
#include "runtime/client/outputs.h"
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns a line for each change between two statuses. A change comes before the changes that it has caused. Without
// `before`, returns all changes since the job began.
std::vector<std::string> ChangeLines(const std::optional<JobStatus>& before, const JobStatus& after);
// Returns the lines that are worth keeping above a table: failures, restarts, silence, degradation, another AM.
std::vector<std::string> ImportantLines(const std::optional<JobStatus>& before, const JobStatus& after);

// Returns a line for each task that succeeded and left processes in the background. If there are many such tasks, only
// the first are named.
std::string NoteLines(const JobStatus& status);

// Returns the text about a job that has ended: state, duration, the first cause, the last lines of the failed task's
// stderr, and where to read more.
std::string VerdictText(const JobStatus& status, const JobRecords& records);

// Returns the text of `tony status`: one line about the job, or the verdict if the job has ended, and a table of its
// tasks. If `room` is limited, the text is safe for a terminal.
std::string StatusText(const KnownStatus& known, const JobRecords& records, Instant now, const TableRoom& room = {});

// The memory limit of the tasks of each role, in bytes. Empty if the job cannot be read.
using MemoryLimits = std::map<std::string, int64_t>;
MemoryLimits MemoryLimitsOf(const JobRecords& records);

// Returns the verdict in one line, e.g. "SUCCEEDED" or "FAILED: worker:1#1 ...".
std::string VerdictLine(const JobStatus& status);

// Returns the most important fact about a job in one line: the verdict, the reason why the job is degraded, or the
// pending reason; "-" if none applies.
std::string NewsLine(const JobStatus& status);

// ---- sweep.cc: the table of a sweep

// Returns the table of the trials, the best first, and at most `most` of them.
std::string SweepText(const SweepView& view, const TableRoom& room, size_t most = SIZE_MAX);
// Returns the first trials for the end of a command that waited for the job; empty if the job is not a sweep.
std::string SweepSummary(const JobRecords& records, const JobStatus& status);

}  // namespace tony
