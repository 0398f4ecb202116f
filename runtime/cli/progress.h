// What a person reads about a job: one line per change while it runs, and the verdict. Pure functions, but that the end
// of a job that succeeded is told with a look at its outputs.
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

// What happened between two statuses, oldest cause first; without `before`, what has happened so far.
std::vector<std::string> ChangeLines(const std::optional<JobStatus>& before, const JobStatus& after);
// Those of them that are worth keeping beside a table: failures, restarts, silence, trouble, another AM.
std::vector<std::string> ImportantLines(const std::optional<JobStatus>& before, const JobStatus& after);

// A line for each task that succeeded and left processes in the background; of many tasks the first ones.
std::string NoteLines(const JobStatus& status);

// The end of a job: state, duration, the first cause with the last lines of its stderr, where to read more.
std::string VerdictText(const JobStatus& status, const JobRecords& records);

// `tony status`: the job in one line, then a table of its tasks; of an ended one the verdict too. Where there is a
// limit to the room it is clean for a terminal.
std::string StatusText(const KnownStatus& known, const JobRecords& records, Instant now, const TableRoom& room = {});

// What the tasks of each role may use, bytes. Empty: the job cannot be read.
using MemoryLimits = std::map<std::string, int64_t>;
MemoryLimits MemoryLimitsOf(const JobRecords& records);

// "SUCCEEDED", "FAILED: worker:1#1 ..." in one line.
std::string VerdictLine(const JobStatus& status);

// What is to be said of a job in one line: its verdict, or what it waits for, or "-".
std::string NewsLine(const JobStatus& status);

}  // namespace tony
