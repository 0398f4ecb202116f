// What a journal tells about its job, without the job's core: attempts, restarts, and where the time went. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/job/job_status.h"
#include "runtime/records/decisions.h"

namespace tony {

struct AttemptHistory {
  AttemptId id;
  std::string host;  // empty: it never had a container
  std::optional<Instant> started, ended;
  std::optional<Outcome> outcome;  // nothing: it has not ended
};

struct RestartHistory {
  RestartDecided decided;
  Instant time;
  std::optional<Instant> began;  // nothing: another one took over its tasks, or the job was stopped first
};

// Each moment between `from` and `until` belongs to exactly one of these, so they add up to the whole.
struct TimeLedger {
  Duration waiting{0};     // for containers and for the whole gang to register
  Duration running{0};     // a gang was formed; single tasks may have been restarted meanwhile
  Duration restarting{0};  // from the decision to restart the gang or the job until it was formed again
  Duration stopping{0};    // from the verdict to the end
  Duration Total() const { return waiting + running + restarting + stopping; }
  bool operator==(const TimeLedger&) const = default;
};

struct JobHistory {
  Epoch epoch;  // how many application masters there were
  Generation generation;
  std::optional<Verdict> verdict;  // from the decision to stop on
  std::optional<Instant> ended;
  std::vector<AttemptHistory> attempts;  // by task, then number
  std::vector<RestartHistory> restarts;
  TimeLedger time;
};

// `from`: when the job was submitted. `until`: when a job whose journal does not hold its end did end, or now.
JobHistory HistoryOf(const std::vector<Decision>& decisions, Instant from, Instant until);

// The document of `tony history --json` and of a job page's history.json. Pure.
// history.cc lists its fields.
//
// Verdicts and outcomes are as in `tony status --json`; an outcome has what the attempt used: "usage". The parts of
// "time" add up to "total_ms", which is from "submitted" to "ended", or to now. "events" (--events only) are as in the
// journal, times in milliseconds.

struct ToldJob {
  JobStatus status;
  std::vector<Decision> decisions;
  size_t torn_bytes = 0;  // at the end of the journal: an append that was not finished
  JobHistory history;
};

std::string HistoryJson(const ToldJob& told, bool with_events);

}  // namespace tony
