// The logs of all tasks in one text, with a search. Only the ends of the logs are read, so the work is limited however
// long the logs are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/job/job_status.h"
#include "runtime/logs/log_source.h"

namespace tony {

struct MergedQuery {
  // A text that must occur in a line, in upper or lower case; empty: all lines.
  std::string text;
  // The beginning of the tasks' names: "worker", "worker:3"; empty: all tasks.
  std::string task;
};

struct MergedLine {
  AttemptId attempt;
  std::string stream;  // e.g. "stderr"
  std::string text;
  std::optional<Instant> when;
};

struct MergedLogs {
  std::vector<MergedLine> lines;  // oldest first
  // The number of lines that matched in the parts that were read.
  size_t matched = 0;
  size_t tasks = 0;
  size_t tasks_left_out = 0;
  // True: the beginning of a log was not read.
  bool is_cut = false;
};

// Reads the logs of the newest attempts of the tasks that the query names, failed and delayed tasks first. The lines of
// all tasks are ordered by their times, which are known to a second.
MergedLogs ReadMergedLogs(const LogSource& logs, const JobStatus& status, const MergedQuery& query, Instant now);

std::string MergedLogsHtml(const JobStatus& status, const MergedQuery& query, const MergedLogs& logs);

}  // namespace tony
