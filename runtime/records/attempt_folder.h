// Whether the folder that a process works in was taken away under it.
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

// Only a path that names nothing, or another folder, at each of several looks is gone: a file system that does not
// answer, or that fails, proves nothing. Nor does a gap between two looks: this process stood still.
class FolderPresence {
 public:
  explicit FolderPresence(std::filesystem::path path);  // as it is now

  bool IsGone(Instant now);  // to be asked each kBetweenLooks
  Error GoneError() const;   // kNotFound
  static constexpr Duration kBetweenLooks{1000};

 private:
  bool IsMissing() const;  // now

  const std::filesystem::path path_;
  const UniqueFd folder_;  // kept open, so that no other folder gets its number
  std::optional<Instant> missing_since_;
  Instant looked_{};
};

// What an attempt has on the node where it runs, for its executor alone: its working directory, and its logs.
//
//   work/worker-3/1/ logs/worker-3/1/{stdout,stderr,stdout.times,executor.log,outcome.json,usage.json,output.json,lock}
//
// Of a task's further processes there are stdout-1, stderr-1, stdout-2, ...

struct AttemptFolder {
  AttemptFolder(std::filesystem::path its_work, std::filesystem::path its_logs)
      : work(std::move(its_work)), logs(std::move(its_logs)) {}
  // `place`: the job's folder on this node.
  AttemptFolder(const std::filesystem::path& place, const AttemptId& attempt);

  std::filesystem::path work;  // PLACE/work/worker-3/1
  std::filesystem::path logs;  // PLACE/logs/worker-3/1

  // What the executor keeps until the AM has acknowledged it.
  Status WriteOutcome(const Outcome& outcome) const;
  Result<std::optional<Outcome>> ReadOutcome() const;
};

}  // namespace tony
