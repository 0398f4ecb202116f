// Small programs of the machine that work for us, as `getent` or `uv`.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

// The environment of this process: "NAME=value".
std::vector<std::string> OwnEnvironment();

// Starts `words`, the first of which is a path, with `environment` (null-terminated, as environ), without input. In a
// process group of its own, so that Ctrl-C at a terminal is for us alone; with no signal blocked or ignored. `errors`:
// -1: its stderr goes nowhere. Descriptors stay the caller's, who waits for the process. kUnavailable says why not,
// without naming the program.
Result<pid_t> StartProgram(const std::vector<std::string>& words, char* const* environment, int output, int errors);

}  // namespace tony
