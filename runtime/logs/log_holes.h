// Reading a file that is a log and may have been cut. Executors free the middle of a log that has outgrown its limit
// (executor/log_cap.h): the file keeps its length, so offsets and cursors stay valid, and what is gone is a hole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/logs/log_source.h"

namespace tony {

// Of the regular file `fd`, from `offset` on. Never hands out the NULs of a hole, also when the log is cut meanwhile.
// Moves the descriptor's own offset. A file that cannot be read is as good as empty; on a file system that does not
// tell where holes are, they read as NULs.
LogBytes ReadLog(int fd, int64_t offset, std::span<char> buffer);

// Where the file has text, in order: between two parts, and after the last one, it has been cut out.
std::vector<LogPart> PartsOfLog(int fd);

}  // namespace tony
