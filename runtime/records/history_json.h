// The document of `tony history --json` and of a job page's history.json. Pure.
//
//   {"schema":1,"job":...,"name":...,"state":...,"epoch":2,"generation":1,"submitted":...,"ended":...,"verdict":{...},
//    "time":{"waiting_ms":...,"running_ms":...,"restarting_ms":...,"stopping_ms":...,"total_ms":...},
//    "attempts":[{"task":"worker:0","attempt":1,"host":...,"started":...,"ended":...,"outcome":{...}}],
//    "restarts":[{"restart":1,"time":...,"scope":"gang","task":...,"attempt":...,"reason":...,"charged":true,
//                 "tasks":[...],"began":...}],
//    "torn_bytes":0,
//    "events":[{"time":...,"decision":"epoch_began",...}]}    --events only; as in the journal, times in ms
//
// Verdicts are as in `tony status --json`, outcomes too, with what the attempt used in them: "usage". The parts of
// "time" add up to "total_ms", which is from "submitted" to "ended", or to now.
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
