// Keeps a log that other processes write within a limit of room on the disk. Nobody can rotate such a file, for its
// writers hold it open; instead its middle is freed (fallocate, FALLOC_FL_PUNCH_HOLE): what was first and last stays
// where it was, the file keeps its length, and its writers notice nothing. Read it with runtime/logs/log_source.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony::executor {

class LogCap {
 public:
  static constexpr int64_t kHeadBytes = 1 << 20;  // of a log's beginning stay whatever the limit

  // Holds the file open: what stands under its name later is somebody else's. Anything but a regular file is left
  // alone.
  LogCap(const std::filesystem::path& file, int64_t limit_bytes);
  LogCap(UniqueFd file, int64_t limit_bytes);  // open for writing

  // Frees what is over the limit, to a whole MiB, so that at most that much more than head and limit stays. Cheap when
  // there is nothing to do. How many bytes have been freed; kUnavailable: this file system cannot.
  Result<int64_t> Check();
  // How much longer the log is than at the Check() before.
  int64_t growth() const { return growth_; }

 private:
  UniqueFd file_;  // not valid: not to be capped
  int64_t limit_bytes_;
  int64_t size_ = 0;  // as last seen
  int64_t growth_ = 0;
  int64_t freed_to_ = 0;  // from kHeadBytes on
};

// When to check next a log that has grown by so many bytes in the time since the last check: before it has grown by a
// quarter of the limit, or by 64 MiB, at the same speed. A log that is quiet now may begin to grow by a GB a second. At
// least 10 ms, at most a second.
Duration UntilNextCheck(int64_t limit_bytes, int64_t growth, Duration since);

}  // namespace tony::executor
