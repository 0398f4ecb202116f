// What a file looks like from outside, by which it is recognized without being read: device, inode, size, and the times
// of modification and change, of which no program can set back the second.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <string>

#include "runtime/base/strings.h"
#include "runtime/base/time.h"

namespace tony {

struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size = 0;                   // bytes
  int64_t modified = 0, changed = 0;  // nanoseconds since 1970

  auto operator<=>(const FileStamp&) const = default;
};

inline FileStamp StampOf(const struct stat& info) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

inline std::string ToString(const FileStamp& stamp) {
  return StrCat(stamp.device, ":", stamp.inode, ":", stamp.size, ":", stamp.modified, ":", stamp.changed);
}

// A file that was changed shortly before it was read may be changed again without its stamp telling: times have the
// ticks of a clock, 4 ms on most machines, 2 s on some file systems.
inline bool HasSettled(const FileStamp& stamp, Instant read) {
  constexpr Duration kTick{2000};
  return stamp.changed < ToMillis(read - kTick) * 1'000'000;
}

}  // namespace tony
