// What a small program of the machine prints: for `getent` and `id`, which know what the machine knows.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony {

struct Answer {
  int exit_code = 0;   // 128 + the signal that ended it
  std::string output;  // its stdout
};

// Runs `words`, the first of which is a path, with our environment, without input, its stderr unread. Blocks. A program
// that says too much, or is not done within `limit`, is killed: kUnavailable, as when it cannot be started. Works also
// where someone else in this process waits for all of its children; any thread.
Result<Answer> AnswerOf(const std::vector<std::string>& words, Duration limit);

}  // namespace tony
