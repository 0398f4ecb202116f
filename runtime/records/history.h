// The history of a job, computed from its journal without the AM's core: attempts, restarts, and where the time went.
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"

namespace tony {

struct AttemptHistory {
  AttemptId id;
  std::string host;  // empty: never had a container
  std::optional<Instant> started, ended;
  std::optional<Outcome> outcome;  // nullopt: has not ended
};

struct RestartHistory {
  RestartDecided decided;
  Instant time;
  // The time when the restart began; nullopt if another restart took over its tasks, or if the job was stopped first.
  std::optional<Instant> began;
};

// Each moment between `from` and `until` counts for exactly one of these fields, so they add up to the whole time.
struct TimeBreakdown {
  // Time spent waiting for containers, and for the whole gang to register.
  Duration waiting{0};
  // Time with a formed gang; single tasks may have been restarted meanwhile.
  Duration running{0};
  // Time from the decision to restart the gang or the job until the gang was formed again.
  Duration restarting{0};
  Duration stopping{0};  // from the verdict to the end
  Duration Total() const { return waiting + running + restarting + stopping; }
  bool operator==(const TimeBreakdown&) const = default;
};

struct JobHistory {
  Epoch epoch;  // number of AMs so far
  Generation generation;
  std::optional<Verdict> verdict;  // set once the job is stopping
  std::optional<Instant> ended;
  std::vector<AttemptHistory> attempts;  // by task, then number
  std::vector<RestartHistory> restarts;
  TimeBreakdown time;
};

// `from` is when the job was submitted. `until` is used if the journal does not contain the end of the job: the time
// when that job ended, or now.
JobHistory HistoryOf(const std::vector<Decision>& decisions, Instant from, Instant until);

// The document of `tony history --json`, and of history.json on a job's page. Pure functions; history.cc lists the
// fields.
//
// Verdicts and outcomes are written as in `tony status --json`; an outcome also has "usage": what the attempt used. The
// parts of "time" add up to "total_ms", the time from "submitted" to "ended", or to now. "events" (only with --events)
// are written as in the journal, with times in milliseconds.

struct HistoryDocument {
  JobStatus status;
  std::vector<Decision> decisions;
  // Bytes at the end of the journal that an unfinished append has left.
  size_t torn_bytes = 0;
  JobHistory history;
};

std::string HistoryJson(const HistoryDocument& told, bool with_events);

}  // namespace tony
