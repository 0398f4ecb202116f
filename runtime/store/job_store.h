// All jobs of one user on this machine: $TONY_HOME/jobs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/store/job_records.h"
#include "runtime/store/staged_files.h"

namespace tony {

struct NewJob {
  JobSpec spec;
  std::vector<std::string> environment;  // of the submitter
  StagedFiles staged;
  JobId id{};  // empty: Create() makes one
  RequestId request{};
  int64_t number = 0;
  Claim claim{};
  std::string configuration{};  // for conf.json, secrets masked (runtime/job/configuration_json.h); empty: none
  std::map<std::string, std::string> secrets{};  // variables of the tasks
  std::string programs{};                        // the entry of $TONY_HOME/programs; empty: none
};

// A new one: "local-20261121-093015-4f2a9c".
JobId NewJobId(Instant now);

class LocalJobStore {
 public:
  explicit LocalJobStore(std::filesystem::path home) : home_(std::move(home)) {}

  // Makes the folder, under a temporary name and then by rename: a submit that dies half way leaves
  // no job. kCannotWrite names the path.
  Result<JobRecords> Create(const NewJob& job, Instant now) const;
  Result<JobRecords> Find(const JobId& job) const;  // kNotFound; kNotPermitted: it is somebody else's
  Result<std::vector<JobRecords>> List() const;     // newest first; no folder yet: none

  // All that may not have ended, and of the others the newest: the file `finished` tells without a look at a status.
  struct NewestJobs {
    std::vector<JobRecords> folders;  // newest first
    size_t left_out = 0;
  };
  Result<NewestJobs> ListNewest(size_t most_finished) const;

 private:
  std::filesystem::path home_;
};

}  // namespace tony
