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
  // Empty: the attempt never had a container.
  std::string host;
  // The web page with the logs of the attempt's container on its node. Empty: not known.
  std::string log_url;
  // True if an earlier attempt ran in the same container.
  bool is_renewed = false;
  std::optional<Instant> started, ended;
  std::optional<Outcome> outcome;  // nullopt: the attempt has not ended
};

struct RestartHistory {
  RestartDecided decided;
  Instant time;
  // The time when the restart began. nullopt: another restart has taken over its tasks, or the job was stopped first.
  std::optional<Instant> began;
};

// The whole time from `from` to `until`, divided into parts. Each moment counts for exactly one part, so the parts add
// up.
struct TimeBreakdown {
  // Time spent waiting for containers, and for the whole gang to register.
  Duration waiting{0};
  // Time with a formed gang, including restarts of single tasks.
  Duration running{0};
  // Time from the decision to restart the gang or the job until the gang was formed again.
  Duration restarting{0};
  // Time from the verdict until the end of the job.
  Duration stopping{0};
  Duration Total() const { return waiting + running + restarting + stopping; }
  bool operator==(const TimeBreakdown&) const = default;
};

// A part of the job's time. The phases follow each other without gaps, from the submission on.
enum class JobPhaseKind { kWaiting, kRunning, kRestarting, kStopping };
struct JobPhase {
  JobPhaseKind kind = JobPhaseKind::kWaiting;
  Instant from, until;
  bool operator==(const JobPhase&) const = default;
};

struct JobHistory {
  Epoch epoch;  // number of AMs so far
  Generation generation;
  std::optional<Verdict> verdict;  // set once the job stops
  std::optional<Instant> ended;
  std::vector<AttemptHistory> attempts;  // sorted by task, then number
  std::vector<RestartHistory> restarts;
  TimeBreakdown time;
  std::vector<JobPhase> phases;
};

// Returns the history of a job. `from` is when the job was submitted. If the journal does not contain the end of the
// job, `until` replaces it: the time when the job ended according to other records, or now.
JobHistory HistoryOf(const std::vector<Decision>& decisions, Instant from, Instant until);

// The document of `tony history --json`, and of history.json on a job's page. Pure functions; history.cc lists the
// fields.
//
// Verdicts and outcomes are written as in `tony status --json`. An outcome also has "usage", the resources that the
// attempt used. The parts of "time" add up to "total_ms", the time from "submitted" to "ended", or to now. "events"
// (only with --events) are written as in the journal, with times in milliseconds.

struct HistoryDocument {
  JobStatus status;
  std::vector<Decision> decisions;
  // The number of bytes at the end of the journal that belong to an unfinished append.
  size_t torn_bytes = 0;
  JobHistory history;
};

std::string HistoryJson(const HistoryDocument& told, bool with_events);

}  // namespace tony
