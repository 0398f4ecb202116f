// The checkpoints of the user's program that the AM finds in the declared directory, and the job that wrote each of
// them. Pure functions and values.
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
  // A job with the same request id and submission number wrote the checkpoint earlier.
  kEarlierJob,
  // The checkpoint was in the directory before this job started. It is unknown which job wrote it.
  kOthers,
  // The writer cannot be determined, because the job has no valid CheckpointListing.
  kUnknown,
};
constexpr auto NamesOf(CheckpointWriter) { return EnumNames("this_job", "earlier_job", "others", "unknown"); }

struct Checkpoint {
  std::string path;  // absolute; a file or a folder
  // The last whole number in the name; -1 if the name has no number.
  int64_t step = -1;
  // The time of the last change by the file system's clock. For a folder: the newest time of the files in it.
  Instant modified;
  CheckpointWriter writer = CheckpointWriter::kThisJob;
  bool operator==(const Checkpoint&) const = default;
};

// Returns whether `left` is newer than `right`. Both are from the same directory. The time of the last change decides.
// The numbers in the names do not decide first, because they may be metrics, dates or versions. If the times are equal,
// e.g. after a restore, the steps decide, and then the names.
bool IsNewer(const Checkpoint& left, const Checkpoint& right);

// An entry of the checkpoint directory. If an entry has the same values again later, it has not changed since. This
// comparison does not need the current time.
struct ListedCheckpoint {
  std::string name;
  int64_t inode = 0;
  // The size in bytes. For a folder: the total size of everything in it.
  int64_t bytes = 0;
  // The time of the last change in ns since 1970, by the file system's clock. For a folder: the newest time of
  // everything in it.
  int64_t modified_ns = 0;
  // True if the earlier job (CheckpointListing::earlier_job) wrote the entry.
  bool earlier_job = false;
  bool operator==(const ListedCheckpoint&) const = default;
};

// The content of the checkpoint directory before any task of the job started.
struct CheckpointListing {
  // The directory with its links resolved. The listing is valid for this directory only.
  std::string folder;
  // The reason why the writers of checkpoints cannot be determined. Empty: the writers can be determined.
  std::string unknown;
  // An earlier job with the same request id and submission number, whose work this job continues.
  std::optional<JobId> earlier_job;
  std::vector<ListedCheckpoint> there;  // sorted by name
  // The checkpoint from which the first attempts resume.
  std::optional<Checkpoint> newest;
  bool operator==(const CheckpointListing&) const = default;

  const ListedCheckpoint* Find(std::string_view name) const;
  // Returns the writer of the entry whose present state is `now`. If the entry has changed since the listing, this job
  // wrote it.
  CheckpointWriter WriterOf(const ListedCheckpoint& now) const;
  // Returns `now` for a later job of the same request, with `earlier_job` set for each entry that this job or its own
  // earlier job has written. For the later job, the writers of these entries are earlier jobs.
  std::vector<ListedCheckpoint> Continued(std::vector<ListedCheckpoint> now) const;
};

}  // namespace tony
