// The document of `tony history --json` and of a job page's history.json. Pure.
// history_json.cc lists its fields.
//
// Verdicts and outcomes are as in `tony status --json`; an outcome has what the attempt used: "usage". The parts of
// "time" add up to "total_ms", which is from "submitted" to "ended", or to now. "events" (--events only) are as in the
// journal, times in milliseconds.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/job_status.h"
#include "runtime/records/history.h"

namespace tony {

struct ToldJob {
  JobStatus status;
  std::vector<Decision> decisions;
  size_t torn_bytes = 0;  // at the end of the journal: an append that was not finished
  JobHistory history;
};

std::string HistoryJson(const ToldJob& told, bool with_events);

}  // namespace tony
