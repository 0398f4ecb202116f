// Whether the folder that a process works in was taken away under it.
#pragma once

#include <filesystem>
#include <optional>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

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

}  // namespace tony
