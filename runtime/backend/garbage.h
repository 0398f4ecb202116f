// What `tony gc` has a backend remove that lies elsewhere than on this machine. Values.
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
  std::function<bool(const JobRecords&)> may_go;  // a whole job: it ended long ago, and nothing of it runs
  std::function<Status()> before_jobs_go;         // once, if some do
  Instant now{}, not_since{};                     // what else may go was written before that
  bool dry_run = false;                           // says what would go, and removes nothing
};

struct Garbage {
  std::vector<std::string> jobs;        // their ids
  std::vector<std::string> staged;      // names of staged content
  std::vector<std::string> unfinished;  // of what was never made whole
  std::vector<std::string> notes;       // of this machine on jobs elsewhere that are gone; their ids
  std::vector<std::string> kept;        // what would be old enough to go, and why it stays: for people
  int64_t bytes = 0;                    // of the staged content
  int requests = 0;                     // request ids that are forgotten
  Status failure = {};                  // not everything could be removed; the rest has been
};

}  // namespace tony
