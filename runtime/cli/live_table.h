// The live table as lines, and the bytes that draw lines again in place. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/terminal.h"
#include "runtime/job/job_status.h"

namespace tony {

// A block of lines at the end of a terminal's output that is drawn again in place. Makes the bytes; somebody else
// writes them. Pure.

class Screen {
 public:
  // What to write so that `above` stands above the block for good, broken at blanks where a line is too long, and the
  // block is `lines`: fewer than the terminal has, each narrower than it is. The block is overwritten line by line,
  // never cleared first, so nothing flickers.
  std::string Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines, TerminalSize size);

 private:
  int RowsToGoUp(TerminalSize size) const;

  std::vector<std::string> lines_;  // that stand there, without styles
};

// Without escape sequences, in columns.
size_t StyledWidth(const std::string& line);

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
