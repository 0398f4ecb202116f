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
#include "runtime/job/job_status.h"
#include "runtime/records/job_records.h"

namespace tony {

// Returns the changes between two statuses, the oldest cause first. Without `before`, returns all changes so far.
std::vector<std::string> ChangeLines(const std::optional<JobStatus>& before, const JobStatus& after);
// Returns only the changes that are worth keeping above a table: failures, restarts, silence, degradation, another AM.
std::vector<std::string> ImportantLines(const std::optional<JobStatus>& before, const JobStatus& after);

// Returns a line for each task that succeeded and left processes in the background. If there are many tasks, only the
// first are named.
std::string NoteLines(const JobStatus& status);

// Returns the text about the end of a job: state, duration, the first cause with the last lines of its stderr, and
// where to read more.
std::string VerdictText(const JobStatus& status, const JobRecords& records);

// Returns the text of `tony status`: the job in one line, or its verdict if it has ended, and a table of its tasks. If
// `room` is limited, the text is safe for a terminal.
std::string StatusText(const KnownStatus& known, const JobRecords& records, Instant now, const TableRoom& room = {});

// The memory limit of each role's tasks, in bytes; empty if the job cannot be read.
using MemoryLimits = std::map<std::string, int64_t>;
MemoryLimits MemoryLimitsOf(const JobRecords& records);

// Returns the verdict in one line: "SUCCEEDED", "FAILED: worker:1#1 ...".
std::string VerdictLine(const JobStatus& status);

// Returns the news of a job in one line: its verdict, why it is degraded, its pending reason, or "-".
std::string NewsLine(const JobStatus& status);

}  // namespace tony
