#include "runtime/client/screen.h"

#include <algorithm>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kToEndOfLine = "\x1b[K";
constexpr std::string_view kToEndOfScreen = "\x1b[J";

}  // namespace

size_t StyledWidth(const std::string& line) {
  size_t hidden = 0;  // styles are ESC [ digits m
  for (size_t at = line.find('\x1b'); at != std::string::npos; at = line.find('\x1b', at + 1))
    hidden += std::min(line.find('m', at), line.size() - 1) + 1 - at;
  return TextWidth(line) - hidden;
}

std::string Screen::Draw(const std::vector<std::string>& above, const std::vector<std::string>& lines,
                         TerminalSize size) {
  std::string out = "\r";
  if (const int up = RowsToGoUp(size); up > 0) out += StrCat("\x1b[", up, "A");
  // A line above may be wider than the terminal: erase first what it will not overwrite.
  for (const std::string& line : above) out += StrCat(kToEndOfLine, line, kToEndOfLine, "\r\n");
  widths_.clear();
  for (const std::string& line : lines) {
    out += StrCat(line, kToEndOfLine, "\r\n");
    widths_.push_back(StyledWidth(line));
  }
  return out.append(kToEndOfScreen);
}

// A terminal that became narrower has wrapped the lines that no longer fit, as most do today. Those that cut them
// instead lose rows above the block.
int Screen::RowsToGoUp(TerminalSize size) const {
  const auto columns = static_cast<size_t>(std::max(1, size.columns));
  size_t rows = 0;
  for (const size_t width : widths_) rows += std::max<size_t>(1, (width + columns - 1) / columns);
  return static_cast<int>(std::min<size_t>(rows, static_cast<size_t>(std::max(1, size.rows)) - 1));
}

}  // namespace tony
