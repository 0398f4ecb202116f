#include "runtime/cli/screen.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/cli/text_table.h"

namespace tony {
namespace {

constexpr size_t kFollowingIndent = 4;  // of what follows of a line above
constexpr std::string_view kToEndOfLine = "\x1b[K";
constexpr std::string_view kToEndOfScreen = "\x1b[J";

// Styles are ESC [ digits m.
std::string Unstyled(std::string line) {
  for (size_t at = line.find('\x1b'); at != std::string::npos; at = line.find('\x1b', at))
    line.erase(at, line.find('m', at) - at + 1);
  return line;
}

}  // namespace

size_t StyledWidth(const std::string& line) { return TextWidth(Unstyled(line)); }

std::string Screen::Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines,
                         TerminalSize size) {
  std::string out = "\r";
  if (const int up = RowsToGoUp(size); up > 0) out += StrCat("\x1b[", up, "A");
  // Erased first: at the end of a row that is full that would take its last character. A word that is longer than a
  // row, as a path, stays whole for who copies it: the terminal wraps it into rows that are erased as well.
  const auto columns = static_cast<size_t>(std::max(2, size.columns));
  for (const std::string& line : above)
    for (const std::string& row : Split(Wrapped(line, columns - 1, kFollowingIndent), '\n'))
      out += StrCat(TextWidth(row) < columns ? kToEndOfLine : kToEndOfScreen, row, "\r\n");
  lines_.clear();
  for (const std::string& line : lines) {
    out += StrCat(line, kToEndOfLine, "\r\n");
    lines_.push_back(Unstyled(line));
  }
  return out.append(kToEndOfScreen);
}

// A terminal that became narrower has wrapped the lines that no longer fit, as most do today. Those that cut them
// instead lose rows above the block.
int Screen::RowsToGoUp(TerminalSize size) const {
  const auto columns = static_cast<size_t>(std::max(1, size.columns));
  size_t rows = 0;
  for (const std::string& line : lines_) rows += RowsWrapped(line, columns);
  return static_cast<int>(std::min<size_t>(rows, static_cast<size_t>(std::max(1, size.rows)) - 1));
}

}  // namespace tony
