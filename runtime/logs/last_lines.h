// Where the last lines of a log begin. Read back from its end in chunks, and no farther than needed: a log may have a
// gigabyte.
#pragma once

#include <cstdint>

#include "runtime/logs/log_source.h"

namespace tony {

struct LastLines {
  uint64_t begin = 0;
  uint64_t end = 0;   // of the file as it was; between two characters if the file may grow
  uint64_t text = 0;  // bytes between them, without what has been cut out
};

// The last `lines` lines of the log, of which no more than `limit` bytes: whole lines, or of one that is longer
// its end. What follows the last line end counts as a line, and what stands for a cut (log_text.h) as none.
// `grows`: it may get longer. Null, or one that cannot be read, is as good as empty.
LastLines FindLastLines(const LogStream* log, uint64_t lines, uint64_t limit, bool grows);

}  // namespace tony
