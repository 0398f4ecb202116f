// A checkpoint of the user's program, as the AM saw it in the declared directory.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/time.h"

namespace tony {

struct Checkpoint {
  std::string path;   // absolute; a file or a folder
  int64_t step = -1;  // the last number in its name; -1: there is none
  Instant modified;   // by the file system's clock
  bool operator==(const Checkpoint&) const = default;
};

// Both in the same directory. The higher step is newer, whatever the times: those change when files are copied. Times
// decide among equal steps and where there are none.
bool IsNewer(const Checkpoint& left, const Checkpoint& right);

}  // namespace tony
