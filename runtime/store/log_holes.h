// Reading a log that may have been cut. Executors free the middle of a log that has outgrown its limit
// (executor/log_cap.h): the file keeps its length, so offsets and cursors stay valid, and what is gone is a hole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tony {

struct LogBytes {
  int64_t cut = 0;  // so many bytes from the offset on are gone; what was read begins behind them
  size_t size = 0;  // so many were read; 0: there are no more yet
};

// Of the regular file `fd`, from `offset` on. Never hands out the NULs of a hole, also when the log is cut meanwhile.
// Moves the descriptor's own offset. A file that cannot be read is as good as empty; on a file system that does not
// tell where holes are, they read as NULs.
LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer);

struct LogPart {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Where the file has text, in order: between two parts, and after the last one, it has been cut out.
std::vector<LogPart> PartsOfLog(int fd);

}  // namespace tony
