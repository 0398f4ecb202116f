// Limits beyond which staging assumes a mistake or an attack.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/entry_store.h"
#include "runtime/records/staged_files.h"

namespace tony {

// The largest number of files and folders. For comparison: a large Python environment has 200,000 files; a file
// system of 100 GB has 6 million inodes.
constexpr int64_t kMostEntries = 500'000;
// The largest unpacked size in bytes. Larger data belongs on a disk that the tasks read, not in an archive that is
// unpacked for them.
constexpr int64_t kMostUnpacked = int64_t{128} << 30;
// The highest allowed ratio of unpacked size to archive size. Programs, tables and logs shrink to a twentieth at best.
// A decompression bomb shrinks to a thousandth, and to even less if parts of the archive overlap. Below kFreeOfRatio
// unpacked bytes the ratio is not checked, because a small file of zeros is not an attack.
constexpr int64_t kMostRatio = 250;
constexpr int64_t kFreeOfRatio = int64_t{1} << 30;
// Staging leaves this much of the disk free, because other programs and the jobs themselves write to the disk. On a
// small disk, staging leaves only a twentieth of the disk free (1 / kLeaveFreePart).
constexpr int64_t kLeaveFree = int64_t{256} << 20;
constexpr int64_t kLeaveFreePart = 20;

struct UnpackLimits {
  int64_t entries = kMostEntries;
  int64_t bytes = kMostUnpacked;
  int64_t ratio = kMostRatio;
  int64_t free_of_ratio = kFreeOfRatio;
};

// Ensures that staging leaves some of the disk free, because others write to the disk, too.

class SpaceGuard {
 public:
  explicit SpaceGuard(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Call this before `bytes` bytes are written to the folder. kCannotWrite: too little space would be left free. Most
  // calls do not check the disk.
  Status Take(int64_t bytes);

 private:
  std::filesystem::path folder_;
  int64_t granted_ = 0;
};

// Counts the progress of staging, and checks whether a stop was requested.

class StageMeter {
 public:
  explicit StageMeter(const StageWatch& watch) : watch_(watch) {}

  void Begin(std::string what) { progress_.what = std::move(what); }
  void Expect(int64_t bytes) { progress_.total += bytes; }
  Status Done(int64_t bytes) { return Tell(progress_.done += bytes); }
  Status Copied(int64_t bytes) { return Tell(progress_.copied += bytes); }
  Status CheckStop() const {
    return watch_.stop.stop_requested() ? Error{ErrorCode::kUnavailable, "staging was stopped"} : Ok();
  }
  const StageProgress& progress() const { return progress_; }

 private:
  Status Tell(int64_t) {
    watch_.on_progress(progress_);
    return CheckStop();
  }

  const StageWatch& watch_;
  StageProgress progress_;
};

// The user's store of staged content on this machine: $TONY_HOME/staged, an EntryStore.
//
//   <hash>                a file; <hash>-x: an executable file
//   <hash>-tree           a folder, named by the hash of its whole content
//   <hash>-unpacked       the content of the archive with that hash
//   <hash>-environment    the content of a Python environment's archive, whose files lead to the task's copy
//   <hash>-venv           an environment that was made from a lock file
//
// Entries are complete or missing, and never change: their files and folders are read-only.

class StagedStore {
 public:
  // Opens the store of `home`, as EntryStore::Open() describes.
  static Result<StagedStore> Open(const std::filesystem::path& home, const std::stop_token& stop) {
    TRY_ASSIGN(EntryStore entries, EntryStore::Open(FolderOf(home), stop));
    return StagedStore(home, std::move(entries));
  }
  static std::filesystem::path FolderOf(const std::filesystem::path& home) { return home / "staged"; }

  const std::filesystem::path& home() const { return home_; }
  const EntryStore& entries() const { return entries_; }

 private:
  StagedStore(std::filesystem::path home, EntryStore entries) : home_(std::move(home)), entries_(std::move(entries)) {}

  std::filesystem::path home_;
  EntryStore entries_;
};

// Puts a job's files into the user's store of staged content, before the job exists. Files that cannot be used are
// refused before anything is started. README.md describes each kind of source.

bool NeedsStaging(const JobSpec& spec);

// The part of Stage()'s report that is about src_dir. PlanSources() lists src_dir without reading its files, and
// returns the same errors as Stage().
struct PlannedSources {
  SourceSummary summary;
  std::vector<std::string> warnings;
};
Result<PlannedSources> PlanSources(const JobSpec& spec, const std::filesystem::path& home, bool as_tony);

// Returns the files of a source in a cluster's file system: the source itself, or the files in the folder. Errors do
// not name the source.
using ListRemoteFiles = std::function<Result<std::vector<RemoteFile>>(const FileSpec&)>;
// A ListRemoteFiles for jobs without a cluster. It always returns kInvalid.
Result<std::vector<RemoteFile>> NoRemoteFiles(const FileSpec&);

// Stages all sources of a job; blocks until they are in the store. `as_tony` has the meaning that SelectSources()
// describes. `watch` and `look` are called on this thread, `look` first. Content that the store already has is not
// copied again. The entries are protected from removal while `store` exists, so a job that refers to them must be
// recorded before `store` is destroyed.
//
// Errors name the source. kInvalid: the source is missing, cannot be read, is an archive that is refused, or is a
// Python environment that cannot work here. kUnavailable: the source changed while it was read, or a stop was requested
// through `watch.stop`. kCannotWrite: the store cannot be written. A failure leaves complete entries only.
Result<StagedFiles> Stage(const JobSpec& spec, const StagedStore& store, const StageWatch& watch,
                          const ListRemoteFiles& look = NoRemoteFiles, const UnpackLimits& limits = {},
                          bool as_tony = false);

}  // namespace tony
