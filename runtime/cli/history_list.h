// The list of jobs that have ended: how it is completed from the jobs' folders, and how `tony history` prints it.
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

// The log of ended jobs is completed from the folders of ended jobs, because the process that should have appended a
// job's line may have died before.

// The log drops the lines of jobs that ended longer ago than this.
inline constexpr std::chrono::hours kEndedJobsKept{400 * 24};

struct Reindexed {
  size_t from_folders = 0;
  size_t jobs = 0;      // jobs in the log afterwards
  size_t left_out = 0;  // unreadable folders; each is reported
};
// Rewrites the log from the folders. The log keeps the lines of jobs whose folders have been removed.
Result<Reindexed> ReindexEndedJobs(const std::filesystem::path& home);

// Completes the log of ended jobs for a caller that reads all folders and removes some: appends the jobs that the log
// lacks, and drops lines that are too old.
class EndedJobsUpkeep {
 public:
  EndedJobsUpkeep(std::filesystem::path home, Instant now);
  // Appends the ended job unless the log has it. Returns false, and prints the error, if the log cannot be written.
  bool Keep(const JobStatus& ended);
  // Makes the appended lines durable. Call it before the folders of the jobs given to Keep() are removed.
  Status Sync() const;
  // Drops the lines that are too old and returns their number. Returns 0, and prints the error, if the log cannot be
  // written.
  size_t DropOld();

 private:
  const std::filesystem::path home_;
  const Instant since_;
  std::set<std::string> known_;
  size_t old_ = 0;
};

// Refuses options of the list together with a JOB, and options of one job without a JOB.
Status CheckHistoryOptions(const CommandLine& line);

Result<int> ListHistory(const CommandLine& line);

}  // namespace tony
