#include "runtime/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kReplaced = "?";
constexpr std::string_view kCut = "..";
constexpr std::string_view kNoStyle = "\x1b[0m";

struct Range {
  uint32_t first, last;
};

// Characters that change the order in which a terminal shows the text after them.
constexpr std::array kTurning = {Range{0x200E, 0x200F}, Range{0x2028, 0x202E}, Range{0x2066, 0x2069}};

bool IsControl(uint32_t c) {
  const bool turns =
      std::ranges::any_of(kTurning, [c](const Range& range) { return range.first <= c && c <= range.last; });
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || turns;
}

size_t LengthAt(std::string_view valid) {
  const auto first = static_cast<unsigned char>(valid[0]);
  return std::min<size_t>(valid.size(), first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4);
}

uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  uint32_t c = first & (0xFFU >> (character.size() + 1));
  for (const char next : character.substr(1)) c = c << 6 | (static_cast<unsigned char>(next) & 0x3F);
  return c;
}

// Returns the columns that a character takes by Unicode's tables. A safe character below the first combining character
// takes one column.
size_t WidthOf(uint32_t c) {
  constexpr uint32_t kFirstCombining = 0x300;
  if (c < kFirstCombining) return 1;
  return static_cast<size_t>(std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(c))));
}

// Returns whether the text is printable ASCII, as most text is. Such text is safe, and need not be checked by
// character.
bool IsPlain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7F; });
}

// Returns the length of the escape sequence at the beginning of `text`, which begins with ESC: a CSI sequence, or a
// string sequence such as a title.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return 1;
  if (text[1] == '[') {
    const size_t end = text.find_first_not_of("0123456789;:<=>?!\"'$ ", 2);
    if (end == std::string_view::npos) return text.size();
    return text[end] >= '@' && text[end] <= '~' ? end + 1 : end;
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {
    const size_t end = text.find_first_of("\a\x1b\n", 2);
    if (end == std::string_view::npos) return text.size();
    return text[end] == '\n' ? end : text.substr(end).starts_with("\x1b\\") ? end + 2 : end + 1;
  }
  return 2;
}

bool IsColour(std::string_view escape) {
  return escape.starts_with("\x1b[") && escape.ends_with("m") &&
         escape.substr(2, escape.size() - 3).find_first_not_of("0123456789;:") == std::string_view::npos;
}

// Appends the text with its control characters replaced, except those in `kept`.
void AppendSafe(std::string& out, std::string_view text, std::string_view kept) {
  while (!text.empty()) {
    const size_t length = LengthAt(text);
    const bool keep = length == 1 && kept.find(text[0]) != std::string_view::npos;
    out += keep || !IsControl(CodePoint(text.substr(0, length))) ? text.substr(0, length) : kReplaced;
    text.remove_prefix(length);
  }
}

std::string Replaced(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  AppendSafe(out, IsUtf8(text) ? text : ReplaceInvalidUtf8(text), kept);
  return out;
}

}  // namespace

std::string SafeLine(std::string_view text) {
  if (IsPlain(text)) return std::string(text);
  std::string out = Replaced(text, "\n\r\t");
  std::ranges::replace_if(
      out, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return out;
}

std::string SafeText(std::string_view text) { return Replaced(text, "\n\t"); }

std::string SafeLog(std::string_view text, bool colour) {
  constexpr std::string_view kKept = "\n\t\r\b";
  std::string out;
  bool coloured = false;
  const std::string valid = ReplaceInvalidUtf8(text);
  for (std::string_view rest = valid; !rest.empty();) {
    const size_t special = std::min(rest.find_first_of(coloured ? "\x1b\n" : "\x1b"), rest.size());
    AppendSafe(out, rest.substr(0, special), kKept);
    rest.remove_prefix(special);
    if (rest.empty()) break;
    if (rest[0] == '\n') {
      out += StrCat(kNoStyle, "\n");
      coloured = false;
      rest.remove_prefix(1);
      continue;
    }
    const std::string_view escape = rest.substr(0, EscapeLength(rest));
    if (colour && IsColour(escape)) {
      out += escape;
      coloured = true;
    }
    rest.remove_prefix(escape.size());
  }
  if (coloured) out += kNoStyle;
  return out;
}

size_t TextWidth(std::string_view text) {
  size_t width = 0;
  for (; !text.empty(); text.remove_prefix(LengthAt(text))) width += WidthOf(CodePoint(text.substr(0, LengthAt(text))));
  return width;
}

size_t RowsWrapped(std::string_view text, size_t columns) {
  size_t rows = 1, used = 0;
  for (; !text.empty(); text.remove_prefix(LengthAt(text))) {
    const size_t width = WidthOf(CodePoint(text.substr(0, LengthAt(text))));
    if (used + width > columns) {
      ++rows;
      used = 0;
    }
    used += width;
  }
  return rows;
}

std::string CutToWidth(std::string_view text, size_t width) {
  if (TextWidth(text) <= width) return std::string(text);
  const std::string_view mark = kCut.substr(0, std::min(width, kCut.size()));
  size_t used = 0, end = 0;
  while (end < text.size()) {
    const std::string_view rest = text.substr(end);
    const size_t next = WidthOf(CodePoint(rest.substr(0, LengthAt(rest))));
    if (used + next > width - mark.size()) break;
    used += next;
    end += LengthAt(rest);
  }
  return StrCat(text.substr(0, end), mark);
}

std::string TableCell(std::string_view text, size_t width) {
  return StrCat(text, std::string(width - std::min(width, TextWidth(text)), ' '), "  ");
}

std::string FitToWidth(std::string_view text, size_t width, bool to_the_right) {
  std::string cut = CutToWidth(text, width);
  const std::string blanks(width - TextWidth(cut), ' ');
  return to_the_right ? blanks + cut : cut + blanks;
}

bool IsTerminal(int fd) {
  const char* const term = getenv("TERM");
  return isatty(fd) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

bool WantsColour(int fd) {
  const char* const refused = getenv("NO_COLOR");
  return IsTerminal(fd) && (refused == nullptr || *refused == '\0');
}

TerminalSize SizeOf(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

std::string Styled(std::string_view text, Style style, bool colour) {
  if (!colour || text.empty()) return std::string(text);
  const auto with = [&](std::string_view code) { return StrCat("\x1b[", code, "m", text, kNoStyle); };
  switch (style) {
    case Style::kPlain:
      return std::string(text);
    case Style::kStrong:
      return with("1");
    case Style::kFaint:
      return with("2");
    case Style::kGood:
      return with("32");
    case Style::kWarning:
      return with("33");
    case Style::kBad:
      return with("31");
  }
  return std::string(text);
}

std::string ColouredByNumber(std::string_view text, size_t number) {
  constexpr std::array kColours = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};
  return StrCat("\x1b[", kColours[number % kColours.size()], "m", text, kNoStyle);
}

}  // namespace tony
