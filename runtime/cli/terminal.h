// These functions make text safe for a terminal and compute its width there. Names, messages and logs come from users'
// programs. Such text must pass through one of the Safe functions, because its escape sequences could otherwise move
// the cursor, set a title or type a reply. Functions without a descriptor `fd` are pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tony {

// Returns the text as one safe line. Control characters (C0, DEL, C1) and characters that change the direction of
// writing become '?'. Bytes that are not UTF-8 become U+FFFD. Line ends and tabs become blanks.
std::string SafeLine(std::string_view text);
// Returns several lines made safe in the way of SafeLine(); line ends and tabs stay.
std::string SafeText(std::string_view text);
// Returns a task's output made safe in the way of SafeText(). Carriage returns stay, because progress bars use them.
// Colours stay if `colour` is true, and each colour ends with its line. Other escape sequences are removed.
std::string SafeLog(std::string_view text, bool colour);

// Returns the columns of a text made by SafeLine(): East Asian characters and emoji take two, combining characters take
// none.
size_t TextWidth(std::string_view text);
// Returns the number of rows that the text takes on a terminal of `columns` columns (1 or more) that wraps between any
// two characters.
size_t RowsWrapped(std::string_view text, size_t columns);
// Returns the text cut to at most `width` columns, never within a character. Two dots show that it was cut.
std::string CutToWidth(std::string_view text, size_t width);
// Returns the text cut or filled with blanks to exactly `width` columns. `to_the_right` aligns the text to the right,
// as for numbers.
std::string FitToWidth(std::string_view text, size_t width, bool to_the_right = false);

// Returns the text filled to at least `width` columns, and then the two blanks that separate columns.
std::string TableCell(std::string_view text, size_t width);

struct TerminalSize {
  int rows = 24;
  int columns = 80;
  bool operator==(const TerminalSize&) const = default;
};

// Returns whether `fd` is a terminal that can move its cursor: $TERM is set and is not "dumb".
bool IsTerminal(int fd);
// Returns whether text may be coloured: IsTerminal(fd) is true, and $NO_COLOR is unset or empty.
bool WantsColour(int fd);
// Returns the size of the terminal; 24 x 80 if it does not report its size.
TerminalSize SizeOf(int fd);

// Styles for text that is already safe for a terminal.
enum class Style { kPlain, kStrong, kFaint, kGood, kWarning, kBad };
std::string Styled(std::string_view text, Style style, bool colour);
// Returns the text in one of a few colours. The same number always gives the same colour.
std::string ColouredByNumber(std::string_view text, size_t number);

}  // namespace tony
