// How much staging takes before it takes something for a mistake or an attack.
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

// A Python environment with everything in it has 200,000 files; a file system of 100 GB has 6 million inodes.
constexpr int64_t kMostEntries = 500'000;
// Larger data belongs on a disk that the tasks read, not in an archive that is unpacked for them.
constexpr int64_t kMostUnpacked = int64_t{128} << 30;
// Programs, tables and logs shrink to a twentieth at best; a bomb to a thousandth, and to less where archives overlap.
// Below the free allowance nobody cares: a small file of zeros is not an attack.
constexpr int64_t kMostRatio = 250;
constexpr int64_t kFreeOfRatio = int64_t{1} << 30;
// What staging leaves free, since other programs and the jobs themselves write to this disk: so much, but never more
// than this part of a small one.
constexpr int64_t kLeaveFree = int64_t{256} << 20;
constexpr int64_t kLeaveFreePart = 20;

struct UnpackLimits {
  int64_t entries = kMostEntries;
  int64_t bytes = kMostUnpacked;
  int64_t ratio = kMostRatio;
  int64_t free_of_ratio = kFreeOfRatio;
};

// Keeps staging from filling the disk that others write to.

class SpaceGuard {
 public:
  explicit SpaceGuard(std::filesystem::path folder) : folder_(std::move(folder)) {}
  // Call before so many bytes are written there. kCannotWrite: too little would be left free. Looks at the disk only
  // now and then.
  Status Take(int64_t bytes);

 private:
  std::filesystem::path folder_;
  int64_t granted_ = 0;
};

// How far a staging is, and whether it is still wanted.

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
//   <hash>            a file; <hash>-x: an executable one
//   <hash>-tree       a folder, named by the hash of all that is in it
//   <hash>-unpacked   what was in the archive of that hash; -environment: a Python environment that leads to itself
//
// Entries are complete or not there and never change: read-only, files and folders.

class StagedStore {
 public:
  // As EntryStore::Open().
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

// Puts a job's files into the user's store of staged content, before there is a job: what cannot be used is refused
// while nothing has been started. README.md says what becomes of each kind of source.

bool NeedsStaging(const JobSpec& spec);

// The report of Stage() on src_dir, which is listed and not read. Errors as there.
struct PlannedSources {
  SourceSummary summary;
  std::vector<std::string> warnings;
};
Result<PlannedSources> PlanSources(const JobSpec& spec, const std::filesystem::path& home, bool as_tony);

// What there is of a source in a cluster's file system: the file, or those that are in the folder. Errors do not name
// the source.
using LookAtRemote = std::function<Result<std::vector<RemoteFile>>(const FileSpec&)>;
Result<std::vector<RemoteFile>> NoRemoteFiles(const FileSpec&);  // where there is no cluster: kInvalid

// `as_tony`: as SourcesOf(). Blocks until all is there; `watch` and `look` are called on this thread, `look` first.
// Content that the store has is not copied again. The entries stay for certain as long as `store` lives, so a job that
// refers to them must be recorded by then.
//
// Errors name the source: kInvalid: it is missing, cannot be read, is an archive that is refused, or a Python
// environment that cannot work here; kUnavailable: it changed while it was read, or `watch.stop` was asked;
// kCannotWrite: the store. A failure leaves complete entries only.
Result<StagedFiles> Stage(const JobSpec& spec, const StagedStore& store, const StageWatch& watch,
                          const LookAtRemote& look = NoRemoteFiles, const UnpackLimits& limits = {},
                          bool as_tony = false);

}  // namespace tony
