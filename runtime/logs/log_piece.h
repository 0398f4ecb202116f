// A piece of one attempt's log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/job/ids.h"
#include "runtime/logs/log_source.h"

namespace tony {

struct LogPiece {
  std::string text;   // as it was written
  int64_t begin = 0;  // its first byte; more than was asked for where the middle of the log has been cut out
  int64_t next = 0;   // where the next piece begins
  int64_t size = 0;   // of the whole log, now
};

// At most `most` bytes from `cursor` on; without a cursor the last ones, from the start of a line if there is one.
// A log that is not there is empty.
LogPiece ReadLogPiece(const LogSource& logs, const AttemptId& attempt, std::string_view stream,
                      std::optional<int64_t> cursor, int64_t most);

}  // namespace tony
