// Which jobs of a folder have finished, so that a list of 100,000 need not look into each again. No job ever begins
// anew, so what is known stays true: a name is forgotten with its folder alone. Only a shortcut: without its file, or
// where that is damaged, torn or of another folder, each job is looked at.
//
//   jobs/.finished   "finished jobs of <device>:<inode>", then a name a line, in the order in which the folder is read
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
  // Names that are looked up anew cost more than the file from so many on.
  static constexpr size_t kWorthKeeping = 1000;

  explicit FinishedNames(std::filesystem::path jobs, size_t worth_keeping = kWorthKeeping);
  // Of all jobs of the folder, in the order in which it is read: file systems keep it when others come or go, so one
  // pass over the file finds them. Where one does not they are looked at, which is slower and the same.
  bool HasFinished(std::string_view name);
  // Writes those that have, where it is worth it. After the last one.
  void Keep() const;

 private:
  bool IsKnown(std::string_view name);

  const std::filesystem::path jobs_;
  const size_t worth_keeping_;
  const UniqueFd folder_;
  std::string known_, seen_;  // the file as it is and as it should be
  size_t at_ = 0;             // in known_: behind the newest name that was found
  size_t looked_up_ = 0;
};

// The jobs of one user on this machine.

// A new id of a job of this machine: "local-20261121-093015-4f2a9c".
JobId NewJobId(Instant now);

// On this machine: the folders in $TONY_HOME/jobs. A new one gets its name when it is whole. The file `finished` tells
// without a look at a status which have ended.
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
