// The table that a person sees while a job runs: the job in a line, what it waits for, its roles, its tasks. Pure
// functions of a status, a moment and the room there is.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/job/job_status.h"

namespace tony {

struct TableView {
  TerminalSize size;
  bool colour = false;
  Instant now;
  MemoryLimits memory_limits = {};
};

// Fewer lines than the terminal has, each narrower than it is. Where not all tasks find room, those come first that
// failed, are silent or start again, and the others are counted.
std::vector<std::string> TableLines(const JobStatus& status, const TableView& view);

// The tasks from `from` on by what they do, most interesting first: "1 failed, 96 running, 3 waiting".
std::string CountedStates(const std::vector<const TaskStatus*>& tasks, size_t from = 0);

}  // namespace tony
