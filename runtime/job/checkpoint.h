// A checkpoint of the user's program, as the AM saw it in the declared directory, and whose it is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/names.h"
#include "runtime/base/time.h"
#include "runtime/job/ids.h"

namespace tony {

enum class CheckpointWriter {
  kThisJob,
  kEarlierJob,  // of the same request id and submission number
  kOthers,      // it was there before
  kUnknown,     // no listing says it
};
constexpr auto NamesOf(CheckpointWriter) { return EnumNames("this_job", "earlier_job", "others", "unknown"); }

struct Checkpoint {
  std::string path;   // absolute; a file or a folder
  int64_t step = -1;  // the last whole number in its name; -1: there is none
  Instant modified;   // by the file system's clock; of a folder: the newest of the files in it
  CheckpointWriter writer = CheckpointWriter::kThisJob;
  bool operator==(const Checkpoint&) const = default;
};

// Both in the same directory. The one that was written last is newer, because numbers in names may be metrics, dates or
// versions. Steps decide among equal times, as a restore may leave them, and then names.
bool IsNewer(const Checkpoint& left, const Checkpoint& right);

// What tells that an entry of the directory is still the same. No clock is asked.
struct ListedCheckpoint {
  std::string name;
  int64_t inode = 0;
  int64_t bytes = 0;         // of a folder: of all in it
  int64_t modified_ns = 0;   // since 1970, by the file system; of a folder: the newest of all in it
  bool earlier_job = false;  // CheckpointListing::earlier_job wrote it
  bool operator==(const ListedCheckpoint&) const = default;
};

// The directory as it was before any task of the job had started.
struct CheckpointListing {
  std::string folder;   // the directory with its links resolved; it is only this one that the listing is of
  std::string unknown;  // why nobody knows whose a checkpoint is; empty: the listing says it
  std::optional<JobId> earlier_job;     // of the same request id and submission number, whose work this one continues
  std::vector<ListedCheckpoint> there;  // by name
  std::optional<Checkpoint> newest;     // from which the first attempts begin
  bool operator==(const CheckpointListing&) const = default;

  const ListedCheckpoint* Find(std::string_view name) const;
  // Of an entry as it is now. What has changed since the listing is this job's.
  CheckpointWriter WriterOf(const ListedCheckpoint& now) const;
  // For a later job of the same request: these entries as they are now, with the marks of what was not there when this
  // listing was made, or was earlier_job's already.
  std::vector<ListedCheckpoint> Continued(std::vector<ListedCheckpoint> now) const;
};

}  // namespace tony
