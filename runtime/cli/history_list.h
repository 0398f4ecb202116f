// The jobs that have ended: by their folders, and as `tony history` lists them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/cli/command_line.h"
#include "runtime/job/job_status.h"

namespace tony {

// The folders of jobs that have ended, for the log of ended jobs: whoever should have appended a job's line may have
// died before.

// Nobody asks after a job that ended longer ago.
inline constexpr std::chrono::hours kEndedJobsKept{400 * 24};

struct Reindexed {
  size_t from_folders = 0;
  size_t jobs = 0;      // in the log now
  size_t left_out = 0;  // folders that cannot be read; each is said
};
// Writes the log anew from the folders; of jobs whose folders have gone the lines stay.
Result<Reindexed> ReindexEndedJobs(const std::filesystem::path& home);

// For one who looks at all folders and removes some: appends the jobs that the log has not, drops what is too old.
class EndedJobsUpkeep {
 public:
  EndedJobsUpkeep(std::filesystem::path home, Instant now);
  bool Keep(const JobStatus& ended);  // one that has ended; false if it cannot be written, which is said
  Status Sync() const;                // before the folders of those that were kept go
  size_t DropOld();                   // how many; none if it cannot be written, which is said

 private:
  const std::filesystem::path home_;
  const Instant since_;
  std::set<std::string> known_;
  size_t old_ = 0;
};

// Options that only this has; those that need a JOB.
Status CheckHistoryOptions(const CommandLine& line);

Result<int> ListHistory(const CommandLine& line);

}  // namespace tony
