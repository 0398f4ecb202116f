// Functions that complete the list of ended jobs from the jobs' folders, and that print this list for `tony history`.
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

// The log of ended jobs is completed from the folders of ended jobs, because a process may have died before it appended
// its job's line.

// The maximum age of the lines in the log. Lines of jobs that ended earlier are dropped.
inline constexpr std::chrono::hours kEndedJobsKept{400 * 24};

struct Reindexed {
  size_t from_folders = 0;
  size_t jobs = 0;      // jobs in the log afterwards
  size_t left_out = 0;  // unreadable folders; each is reported
};
// Rewrites the log from the jobs' folders. Lines of jobs whose folders were removed are kept.
Result<Reindexed> ReindexEndedJobs(const std::filesystem::path& home);

// Keeps the log of ended jobs complete: appends the jobs that the log lacks, and drops lines that are too old. The
// caller reads the folders of all jobs, and then removes some of these folders.
class EndedJobsUpkeep {
 public:
  EndedJobsUpkeep(std::filesystem::path home, Instant now);
  // Appends the ended job unless the log already has it. If the log cannot be written, prints the error and returns
  // false.
  bool Keep(const JobStatus& ended);
  // Makes the appended lines durable. Must be called before the folders of these jobs are removed.
  Status Sync() const;
  // Drops the lines that are too old and returns their number. If the log cannot be written, prints the error and
  // returns 0.
  size_t DropOld();

 private:
  const std::filesystem::path home_;
  const Instant since_;
  std::set<std::string> known_;
  size_t old_ = 0;
};

// Returns kUsage if an option of the list is given together with a JOB, or if an option of one job is given without a
// JOB.
Status CheckHistoryOptions(const CommandLine& line);

Result<int> ListHistory(const CommandLine& line);

}  // namespace tony
