// The order and the result of `tony gc` for places other than this machine. Values.
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
  // True for a whole job that may be removed: it ended long ago, and none of its processes runs.
  std::function<bool(const JobRecords&)> may_go;
  // Called once before the first job is removed, if any is.
  std::function<Status()> before_jobs_go;
  // `not_since`: other garbage may be removed if it was written before that time.
  Instant now{}, not_since{};
  // Reports what would be removed, and removes nothing.
  bool dry_run = false;
};

struct Garbage {
  std::vector<std::string> jobs;        // job ids
  std::vector<std::string> staged;      // names of staged content
  std::vector<std::string> unfinished;  // incomplete uploads and jobs
  // Ids of removed jobs elsewhere about which this machine had notes.
  std::vector<std::string> notes;
  // Entries that are old enough and stay nevertheless, with the reason, for people.
  std::vector<std::string> kept;
  int64_t bytes = 0;  // size of the staged content
  int requests = 0;   // number of removed request ids
  // Set if something could not be removed; the rest was removed.
  Status failure = {};
};

}  // namespace tony
