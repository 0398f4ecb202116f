// What a job has on this machine beside its records, which are files of the same folder: job_records.h. For who keeps
// jobs on one machine. Everything is private to the user (0700, 0600).
//
//   boot-id            the boot of the machine that its newest keeper belongs to
//   page-token         what the address of the job's page begins with, so that only who knows it sees the page; a
//                      new one whenever the port is; none: no page
//   page-port          where the page is served, as long as the AM or the keeper lives; none: nowhere yet
//   journal.written    how long the journal is at least; one that is shorter has been damaged
//   am.3.sock          where the AM of epoch 3 listens
//   am.lock keeper.lock  locked by the ruling AM and keeper as long as they live
//   keeper.start       locked by who starts a keeper, then at once by that keeper as long as it lives
//   keeper.sock epoch am.deaths containers/  the keeper's
//   reserve            room on the disk for the job's last records, given up when they find no other
//   finished           nothing of the job is to be started again
//   logs/ work/        of its attempts: attempt_folder.h
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
  explicit JobFolder(const JobRecords& records) : path_(records.place()) {}  // of a job that is kept here

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path home() const { return path_.parent_path().parent_path(); }  // <home>/jobs/<id>
  std::filesystem::path journal() const { return path_ / "journal"; }
  std::filesystem::path finished() const { return path_ / "finished"; }

  // Sets room aside for the last records of a job of so many tasks, until JobRecords::GiveUpReserve(). kCannotWrite:
  // there is none.
  Status MakeReserve(int tasks) const;

  Status WriteBoot(const std::string& boot) const;
  // Whether this machine, the job's own, has been started anew since the job was last kept: then nothing of it lives.
  // Not known: no.
  bool IsOfEarlierBoot() const;

  // Takes the lock file `name` ("am.lock"), or says kUnavailable if it is held, by whomever. Held until the descriptor
  // is closed, copies of it in forked children included.
  Result<UniqueFd> Lock(const std::string& name) const;
  bool IsLocked(const std::string& name) const;  // only looks: never makes a Lock() elsewhere fail

 private:
  std::filesystem::path path_;
};

}  // namespace tony
