// What may reach a terminal, and how wide it is there. Names, messages and logs come from users' programs: all of them
// go through one of the Safe functions, so that no escape sequence of theirs moves a cursor, sets a title or types a
// reply. Pure, but for what is asked of a descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tony {

// Control characters (C0, DEL, C1) and those that turn the direction of writing become '?', bytes that are no UTF-8
// U+FFFD. Line ends and tabs become blanks.
std::string SafeLine(std::string_view text);
// The same of several lines: line ends and tabs stay.
std::string SafeText(std::string_view text);
// The same of what a task wrote: carriage returns stay (progress bars) and so do colours, unless `colour` is false; the
// colours of a line end with it. Other escape sequences are left out.
std::string SafeLog(std::string_view text, bool colour);

// Columns that text takes which SafeLine() made: characters of East Asia and emoji two, combining ones none.
size_t TextWidth(std::string_view text);
// Rows that it takes where a terminal of so many columns, 1 or more, has wrapped it: at any character, but within none.
size_t RowsWrapped(std::string_view text, size_t columns);
// At most so wide; what was cut is told by two dots. Never within a character.
std::string CutToWidth(std::string_view text, size_t width);
// Exactly so wide, filled with blanks; numbers are set to the right.
std::string FitToWidth(std::string_view text, size_t width, bool to_the_right = false);

// At least so wide, and the two blanks that part columns.
std::string TableCell(std::string_view text, size_t width);

struct TerminalSize {
  int rows = 24;
  int columns = 80;
  bool operator==(const TerminalSize&) const = default;
};

bool IsTerminal(int fd);      // one that can move its cursor: $TERM is neither unset nor "dumb"
bool WantsColour(int fd);     // a terminal, and $NO_COLOR is unset or empty
TerminalSize SizeOf(int fd);  // of one that does not say: 24 x 80

// Styles for text that needs no cleaning any more.
enum class Style { kPlain, kStrong, kFaint, kGood, kWarning, kBad };
std::string Styled(std::string_view text, Style style, bool colour);
// One of a few colours, the same for the same number.
std::string ColouredByNumber(std::string_view text, size_t number);

}  // namespace tony
