// The jobs of one user, of one backend. Seam: LocalJobStore; the fake backend's in tests.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/job_records.h"
#include "runtime/records/known_records.h"
#include "runtime/records/stage_watch.h"
#include "runtime/records/staged_files.h"

namespace tony {

struct NewJob {
  JobSpec spec;
  std::vector<std::string> environment;  // of the submitter
  StagedFiles staged;
  JobId id{};  // empty: Create() makes one
  RequestId request{};
  int64_t number = 0;
  Claim claim{};
  std::string configuration{};  // for conf.json, secrets masked (runtime/spec/configuration_json.h); empty: none
  std::map<std::string, std::string> secrets{};  // variables of the tasks
  std::string programs{};                        // the entry of $TONY_HOME/programs; empty: none
  std::optional<RecordsByName> laid{};           // by JobStore::Lay(): the records that are there; else nothing
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual Result<JobId> NewId(Instant now) const = 0;
  // All of Create() that takes long, where that is not here: nobody finds the job yet, and Create() of what this
  // returns is one write. kUnavailable, too, when the watch has stopped it. What is not created is discarded, or an id
  // that is not used; where nobody does that, `tony gc` does.
  virtual Result<NewJob> Lay(NewJob job, Instant, const StageWatch&) const { return job; }
  virtual void DiscardLaid(const NewJob&) const {}
  // All of it or nothing, also where the submit dies half way. kCannotWrite names the place. kUnavailable: what was
  // laid has been taken away, by who thought that its submit had died.
  virtual Result<JobRecords> Create(const NewJob& job, Instant now) const = 0;
  virtual void Discard(const JobRecords& job) const = 0;  // one that was made, and cannot be started
  // kNotFound; kNotPermitted: it is somebody else's.
  virtual Result<JobRecords> Find(const JobId& job) const = 0;
  virtual Result<std::vector<JobRecords>> List() const = 0;  // newest first
  // All that may not have ended, and of the others the newest.
  struct NewestJobs {
    std::vector<JobRecords> jobs;  // newest first
    size_t left_out = 0;
  };
  virtual Result<NewestJobs> ListNewest(size_t most_finished) const = 0;
};

}  // namespace tony
