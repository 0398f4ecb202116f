// Pure functions that return the live table as lines, and a class that returns the bytes that redraw lines in place.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/job/job_status.h"

namespace tony {

// A block of lines at the end of a terminal's output, which is redrawn in place. This class only makes the bytes; the
// caller writes them.

class Screen {
 public:
  // Returns the bytes that redraw the block as `lines`, and that print the lines of `above` permanently above it. Long
  // lines of `above` are wrapped at blanks. The block must have fewer lines than the terminal, each narrower than the
  // terminal. The block is overwritten line by line and never cleared first, because clearing would make it flicker.
  std::string Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines, TerminalSize size);

 private:
  int RowsToGoUp(TerminalSize size) const;

  std::vector<std::string> lines_;  // lines of the block, without styles
};

// Returns the width in columns; escape sequences count as 0.
size_t StyledWidth(const std::string& line);

struct TableView {
  TerminalSize size;
  bool colour = false;
  Instant now;
  MemoryLimits memory_limits = {};
};

// Returns the live table: fewer lines than the terminal has, each narrower than the terminal. If not all tasks fit,
// tasks that failed, are silent or are restarting are shown first, and the others are only counted.
std::vector<std::string> TableLines(const JobStatus& status, const TableView& view);

// Returns the number of tasks in each state, e.g. "1 failed, 96 running, 3 waiting". The state that most needs
// attention comes first. Tasks before index `from` are not counted.
std::string CountedStates(const std::vector<const TaskStatus*>& tasks, size_t from = 0);

}  // namespace tony
