// A block of lines at the end of a terminal's output that is drawn again in place. Makes the bytes; somebody else
// writes them. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/cli/terminal.h"

namespace tony {

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

}  // namespace tony
