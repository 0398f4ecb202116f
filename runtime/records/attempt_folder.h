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
// folder. A file system that does not answer, or that fails, proves nothing. A long gap between two checks starts the
// count again, because this process stood still meanwhile.
class FolderPresence {
 public:
  // The constructor remembers the folder that `path` names now.
  explicit FolderPresence(std::filesystem::path path);

  // Returns true once the folder has been missing for ten seconds. The caller calls this every kCheckInterval.
  bool IsGone(Instant now);
  Error RemovedError() const;  // the error code is kNotFound
  static constexpr Duration kCheckInterval{1000};

 private:
  // Returns true if `path_` names nothing, or another folder, at this moment.
  bool IsMissing() const;

  const std::filesystem::path path_;
  // The open descriptor keeps any other folder from getting this folder's inode number.
  const UniqueFd folder_;
  std::optional<Instant> missing_since_;
  Instant looked_{};
};

// The folders of an attempt on the node where it runs, for its executor alone: its working directory, and its logs.
//
//   work/worker-3/1/ logs/worker-3/1/{stdout,stderr,stdout.times,executor.log,outcome.json,usage.json,output.json,lock}
//
// If a task has further processes, their logs are stdout-1, stderr-1, stdout-2, ...

struct AttemptFolder {
  AttemptFolder(std::filesystem::path its_work, std::filesystem::path its_logs)
      : work(std::move(its_work)), logs(std::move(its_logs)) {}
  // `place` is the job's folder on this node.
  AttemptFolder(const std::filesystem::path& place, const AttemptId& attempt);

  std::filesystem::path work;  // PLACE/work/worker-3/1
  std::filesystem::path logs;  // PLACE/logs/worker-3/1

  // The executor keeps the outcome in a file until the AM has acknowledged it.
  Status WriteOutcome(const Outcome& outcome) const;
  Result<std::optional<Outcome>> ReadOutcome() const;
};

}  // namespace tony
