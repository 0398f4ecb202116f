// `tony history` without a JOB: the jobs that have ended, by the log of ended jobs.
#pragma once

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"

namespace tony {

// Options that only this has; those that need a JOB.
Status CheckHistoryOptions(const CommandLine& line);

Result<int> ListHistory(const CommandLine& line);

}  // namespace tony
