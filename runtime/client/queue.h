// `tony list --queue`: all jobs in the machine's ledger, whosever they are, in the order of their turns.
#pragma once

#include "runtime/client/command_line.h"

namespace tony {

Result<int> RunQueue(const CommandLine& line);

}  // namespace tony
