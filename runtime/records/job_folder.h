// The files that a job has on this machine in addition to its records (job_records.h), which are files of the same
// folder. Only programs that keep jobs on one machine use these files. The user alone may read them (0700, 0600).
//
//   boot-id            the boot id of the machine when the job's newest keeper (its supervisor) started
//   page-token         a secret: the first part of the page's address, so that only people who know it see the page;
//                      a new port gets a new token; missing: the job has no page
//   page-port          the port of the page, as long as the AM or the keeper lives; missing: not served yet
//   journal.written    the minimum length of the journal; a shorter journal has been damaged
//   am.3.sock          the socket of the AM of epoch 3
//   am.lock keeper.lock  locked by the leading AM and by the keeper as long as they live
//   keeper.start       locked by the process that starts a keeper, then at once by that keeper as long as it lives
//   keeper.sock epoch am.deaths containers/  files of the keeper
//   reserve            disk space for the job's last records, freed if the disk has no other space for them
//   finished           marks a job whose processes must not be started again
//   logs/ work/        logs and working directories of the attempts: attempt_folder.h
#pragma once

#include <filesystem>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/job_records.h"

namespace tony {

class JobFolder {
 public:
  explicit JobFolder(std::filesystem::path path) : path_(std::move(path)) {}
  explicit JobFolder(const JobRecords& records) : path_(records.place()) {}  // for a job on this machine

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path home() const { return path_.parent_path().parent_path(); }  // path_ is HOME/jobs/ID
  std::filesystem::path journal() const { return path_ / "journal"; }
  std::filesystem::path finished() const { return path_ / "finished"; }

  // Reserves disk space for the last records of a job with `tasks` tasks, until JobRecords::FreeReserve().
  // kCannotWrite: the disk is full.
  Status MakeReserve(int tasks) const;

  Status WriteBoot(const std::string& boot) const;
  // Returns true if the job ran on this machine and the machine was rebooted since the job's last keeper started. In
  // that case no process of the job lives. Returns false if this is not known.
  bool IsOfEarlierBoot() const;

  // Takes the lock file `name` ("am.lock"). kUnavailable: another process has locked the file. The lock is released
  // when the descriptor and all its copies in forked children are closed.
  Result<UniqueFd> Lock(const std::string& name) const;
  // Returns true if a process has the lock. The check takes no lock, so it makes no Lock() elsewhere fail.
  bool IsLocked(const std::string& name) const;

 private:
  std::filesystem::path path_;
};

}  // namespace tony
