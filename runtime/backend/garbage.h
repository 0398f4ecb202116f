// The garbage in places other than this machine. GarbageOrder selects the garbage that `tony gc` may remove there, and
// Garbage lists the garbage that it removed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/records/job_records.h"

namespace tony {

struct GarbageOrder {
  // Returns true if a whole job may be removed: it ended long ago, and none of its processes runs.
  std::function<bool(const JobRecords&)> may_go;
  // Called once before the first job is removed; not called if no job is removed.
  std::function<Status()> before_jobs_go;
  // `now` is the current time. Garbage other than jobs is removed only if it was written before `not_since`.
  Instant now{}, not_since{};
  // True if the garbage is only reported and nothing is removed.
  bool dry_run = false;
};

struct Garbage {
  std::vector<std::string> jobs;        // job ids
  std::vector<std::string> staged;      // names of staged content
  std::vector<std::string> unfinished;  // incomplete uploads and jobs
  // The ids of jobs that were removed elsewhere. This machine had notes about these jobs.
  std::vector<std::string> notes;
  // Entries that are old enough to be removed but are not, with the reason, as texts for people.
  std::vector<std::string> kept;
  int64_t bytes = 0;  // size of the staged content
  int requests = 0;   // number of removed request ids
  // The error if something could not be removed. Everything else was removed.
  Status failure = {};
};

}  // namespace tony
