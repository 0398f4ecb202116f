// The live table as lines, and the bytes that redraw lines in place. Pure: no input or output.
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
  // Returns the bytes that print `above` permanently above the block and make `lines` the block. Long lines of `above`
  // are wrapped at blanks. The block must have fewer lines than the terminal, each narrower than the terminal. The
  // block is overwritten line by line and never cleared first, so that nothing flickers.
  std::string Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines, TerminalSize size);

 private:
  int RowsToGoUp(TerminalSize size) const;

  std::vector<std::string> lines_;  // lines of the block, without styles
};

// Returns the width in columns without escape sequences.
size_t StyledWidth(const std::string& line);

struct TableView {
  TerminalSize size;
  bool colour = false;
  Instant now;
  MemoryLimits memory_limits = {};
};

// Returns the live table: fewer lines than the terminal has, each narrower than the terminal. If not all tasks fit,
// tasks that failed, are silent or are restarting come first, and the others are counted.
std::vector<std::string> TableLines(const JobStatus& status, const TableView& view);

// Returns the number of tasks in each state, from `from` on, the most interesting state first: "1 failed, 96 running, 3
// waiting".
std::string CountedStates(const std::vector<const TaskStatus*>& tasks, size_t from = 0);

}  // namespace tony
