// FinishedNames remembers which jobs of a folder have finished, so that a list of 100,000 jobs need not check each one
// on disk. A finished job never restarts, therefore a remembered name stays valid until its folder is removed. The file
// is only a cache: if it is missing, damaged, torn, or belongs to another folder, each job is checked.
//
//   jobs/.finished   "finished jobs of <device>:<inode>", then one name a line, in the order of the folder
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony {

class FinishedNames {
 public:
  // The file is written if at least this many names had to be checked on disk. For fewer names, the checks cost less
  // than the file.
  static constexpr size_t kMinChecksToSave = 1000;

  explicit FinishedNames(std::filesystem::path jobs, size_t worth_keeping = kMinChecksToSave);
  // Returns whether the job has finished. Call this for all jobs in the order in which their folder is read: the file
  // has the names in that order, so one pass over the file finds all of them. Most file systems keep the order when
  // other entries come or go. On others, more names are checked on disk, which is slower and gives the same result.
  bool HasFinished(std::string_view name);
  // Writes the names of the finished jobs, if enough of them had to be checked on disk. Call this after the last name.
  void Keep() const;

 private:
  bool IsKnown(std::string_view name);

  const std::filesystem::path jobs_;
  const size_t worth_keeping_;
  const UniqueFd folder_;
  // `known_` is the content of the file when it was read, `seen_` the content that it should have.
  std::string known_, seen_;
  // The search in `known_` continues at this offset, behind the last name that was found.
  size_t at_ = 0;
  size_t looked_up_ = 0;
};

// Returns a new id for a job of this machine: "local-20261121-093015-4f2a9c".
JobId NewJobId(Instant now);

// The jobs of one user on this machine: the folders in $TONY_HOME/jobs. A new folder gets its final name only when it
// is complete. The file `finished` in a folder marks a job that has ended, so that a list need not read the job's
// status.
class LocalJobStore : public JobStore {
 public:
  explicit LocalJobStore(std::filesystem::path home) : home_(std::move(home)) {}

  Result<JobId> NewId(Instant now) const override { return NewJobId(now); }
  Result<JobRecords> Create(const NewJob& job, Instant now) const override;
  void Discard(const JobRecords& job) const override;
  Result<JobRecords> Find(const JobId& job) const override;
  Result<std::vector<JobRecords>> List() const override;
  Result<NewestJobs> ListNewest(size_t most_finished) const override;

 private:
  std::filesystem::path home_;
};

}  // namespace tony
