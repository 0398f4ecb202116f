// Reads the bytes of aggregated log files (aggregated_log.h), plain or inflated, in windows of 64 KiB.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::hadoop {

// Reads `length` bytes of a file, from `offset` on. A result with fewer bytes means that the file has become shorter.
using ReadRange = std::function<Result<std::string>(int64_t offset, int64_t length)>;

inline constexpr int64_t kLogWindow = 64 << 10;
// Limit of a file's index in bytes.
inline constexpr int64_t kLargestLogIndex = 16 << 20;
// Limit of inflated bytes per file. Inflating this many takes about ten seconds.
inline constexpr int64_t kMostInflated = 4LL << 30;

inline Error BadLogFile(std::string_view what) { return InvalidError("not a valid aggregated log: ", what); }

// Reads the bytes of a part of a file in order.
class LogBytes {
 public:
  virtual ~LogBytes() = default;
  // Returns exactly `count` bytes. kInvalid: fewer bytes are left.
  virtual Result<std::string> Take(int64_t count) = 0;
  virtual Status Skip(int64_t count) = 0;
  virtual Result<bool> AtEnd() = 0;
};

struct LogRegion {
  int64_t begin = 0;
  int64_t end = 0;
};

std::unique_ptr<LogBytes> PlainLogBytes(const ReadRange& read, const LogRegion& region);

// Returns the reader of a region that is stored with `compression`: uncompressed ("none"), or as one zlib stream or
// gzip stream ("gz"). `read` and `budget` must outlive the reader. `budget` is the number of bytes that may still be
// inflated. kInvalid: another compression.
Result<std::unique_ptr<LogBytes>> OpenLogBytes(const ReadRange& read, const LogRegion& region,
                                               const std::string& compression, int64_t& budget);

}  // namespace tony::hadoop
