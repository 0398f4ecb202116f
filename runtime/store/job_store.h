// All jobs of one user on this machine: $TONY_HOME/jobs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/store/job_folder.h"
#include "runtime/store/staged_files.h"

namespace tony {

struct NewJob {
  JobSpec spec;
  std::vector<std::string> environment;  // of the submitter
  StagedFiles staged;
};

class LocalJobStore {
 public:
  explicit LocalJobStore(std::filesystem::path home) : home_(std::move(home)) {}

  // Makes the folder with a new job id, under a temporary name and then by rename: a submit that dies half way leaves
  // no job. kCannotWrite names the path.
  Result<JobFolder> Create(const NewJob& job, Instant now) const;
  Result<JobFolder> Find(const JobId& job) const;  // kNotFound
  Result<std::vector<JobFolder>> List() const;     // newest first; no folder yet: none

 private:
  std::filesystem::path home_;
};

// $TONY_HOME, else ~/.tony; absolute.
Result<std::filesystem::path> TonyHome();

}  // namespace tony
