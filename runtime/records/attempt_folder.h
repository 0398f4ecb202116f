// Detects that the folder in which a process works was removed or replaced while the process runs.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/ids.h"
#include "runtime/job/outcome.h"

namespace tony {

// FolderPresence reports a folder as removed only after several checks found that its path names nothing, or another
// folder. A file system that fails or does not answer proves nothing. If the time between two checks is long, this
// process stood still, and the count starts again.
class FolderPresence {
 public:
  // The constructor remembers the folder that `path` names now.
  explicit FolderPresence(std::filesystem::path path);

  // Returns true once the folder has been missing for ten seconds. Must be called every kCheckInterval.
  bool IsGone(Instant now);
  // Returns the error that a caller reports after IsGone() was true: kNotFound, with the folder's path.
  Error RemovedError() const;
  static constexpr Duration kCheckInterval{1000};

 private:
  // Returns true if `path_` names nothing, or another folder, at this moment.
  bool IsMissing() const;

  const std::filesystem::path path_;
  // This open descriptor keeps the folder's inode in use, so a new folder cannot get the same inode number.
  const UniqueFd folder_;
  std::optional<Instant> missing_since_;
  Instant looked_{};
};

// The folders of an attempt on the node where it runs: its working directory, and its logs. Only the attempt's executor
// uses them.
//
//   work/worker-3/1/ logs/worker-3/1/{stdout,stderr,stdout.times,executor.log,outcome.json,usage.json,output.json,lock}
//
// If a task has further processes, their logs are stdout-1, stderr-1, stdout-2, ...

struct AttemptFolder {
  AttemptFolder(std::filesystem::path its_work, std::filesystem::path its_logs)
      : work(std::move(its_work)), logs(std::move(its_logs)) {}
  // Names the folders of an attempt inside `place`, the job's folder on this node.
  AttemptFolder(const std::filesystem::path& place, const AttemptId& attempt);

  std::filesystem::path work;  // e.g. PLACE/work/worker-3/1
  std::filesystem::path logs;  // e.g. PLACE/logs/worker-3/1

  // The outcome is kept in a file of the attempt's folder, because the AM may not have acknowledged it yet when the
  // executor dies.
  Status WriteOutcome(const Outcome& outcome) const;
  Result<std::optional<Outcome>> ReadOutcome() const;
};

// Returns the file with the variables of the attempt, "NAME=value\0...". It exists only in a job that holds failed tasks
// (JobSpec::hold), while the attempt's executor lives.
std::filesystem::path HeldEnvironment(const AttemptFolder& folder);

}  // namespace tony
