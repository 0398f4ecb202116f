// Where the last lines of a log begin. Read back from its end in chunks, and no farther than needed: a log may have a
// gigabyte.
#pragma once

#include <cstdint>

namespace tony {

struct LastLines {
  uint64_t begin = 0;
  uint64_t end = 0;   // of the file as it was; between two characters if the file may grow
  uint64_t text = 0;  // bytes between them, without what has been cut out
};

// The last `lines` lines of the log `fd`, of which no more than `limit` bytes: whole lines, or of one that is longer
// its end. What follows the last line end counts as a line, and what stands for a cut (runtime/store/log_holes.h) as
// none. `grows`: it may get longer. A file that cannot be read is as good as empty.
LastLines FindLastLines(int fd, uint64_t lines, uint64_t limit, bool grows);

}  // namespace tony
