// `tony history --serve`: the pages of jobs that have ended, from their folders, on the loopback device.
#pragma once

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Prints the address and serves until Ctrl-C. Its token is kept in $TONY_HOME/history/page-token, so that with --port
// the address is the same each time. kUsage: a bad --port; kUnavailable: it is taken.
Result<int> ServeHistory(const CommandLine& line);

}  // namespace tony
