// `tony list --queue`: all jobs that a scheduler has or lets wait, whosever they are, in the order of their turns.
#pragma once

#include "runtime/cli/command_line.h"

namespace tony {

Result<int> RunQueue(const CommandLine& line);

}  // namespace tony
