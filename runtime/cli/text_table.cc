#include "runtime/cli/text_table.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr size_t kColumnGap = 2;

// Returns the width of the shown columns, including the gaps between them.
size_t TotalOf(const std::vector<size_t>& widths) {
  size_t total = 0;
  for (const size_t width : widths) total += width == 0 ? 0 : width + (total == 0 ? 0 : kColumnGap);
  return total;
}

}  // namespace

void TextTable::Add(std::vector<StyledText> row, Style style) {
  for (StyledText& cell : row)
    if (cell.style == Style::kPlain) cell.style = style;
  rows_.push_back(std::move(row));
}

std::vector<size_t> TextTable::Widths(const TableRoom& room) const {
  std::vector<size_t> whole;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = TextWidth(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, TextWidth(row[i].text));
    whole.push_back(columns_[i].rank == TextColumn::kNever ? 0 : width);
  }
  if (room.columns == 0) return whole;
  const size_t columns = room.columns - std::min(room.columns, indent_.size());
  std::vector<size_t> least = whole;
  for (size_t i = 0; i < least.size(); ++i)
    if (columns_[i].least > 0) least[i] = std::min(least[i], columns_[i].least);
  while (TotalOf(least) > columns) {
    int most = 0;
    for (size_t i = 0; i < least.size(); ++i) most = std::max(most, least[i] == 0 ? 0 : columns_[i].rank);
    if (most == 0) break;
    for (size_t i = 0; i < least.size(); ++i)
      if (columns_[i].rank == most) least[i] = 0;
  }
  // The remaining room is given to the columns that were cut, the most important column first.
  for (int rank = 0; TotalOf(least) < columns && rank <= static_cast<int>(columns_.size()); ++rank)
    for (size_t i = 0; i < least.size(); ++i)
      if (least[i] > 0 && columns_[i].rank == rank)
        least[i] += std::min(whole[i] - least[i], columns - std::min(columns, TotalOf(least)));
  return least;
}

std::string TextTable::Text(const TableRoom& room) const {
  const std::vector<size_t> widths = Widths(room);
  size_t last = 0;
  for (size_t i = 0; i < widths.size(); ++i) last = widths[i] > 0 ? i : last;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    size_t used = 0;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string gap = text.empty() ? indent_ : std::string(kColumnGap, ' ');
      used += gap.size();
      // Even the columns that are always shown may not fit into the room.
      if (room.columns > 0 && used >= room.columns) break;
      const size_t width = room.columns > 0 ? std::min(widths[i], room.columns - used) : widths[i];
      used += width;
      const StyledText cell = cell_of(i);
      std::string fitted = FitToWidth(cell.text, width, columns_[i].to_the_right);
      if (i == last) fitted.erase(fitted.find_last_not_of(' ') + 1);
      text += StrCat(gap, Styled(fitted, cell.style, room.colour));
    }
    return text + "\n";
  };
  std::string text = line([&](size_t i) { return StyledText(std::string(columns_[i].title), Style::kFaint); });
  for (const auto& row : rows_) text += line([&](size_t i) { return row[i]; });
  return text;
}

Style StyleOfState(std::string_view state) {
  constexpr std::array kBadStates = {"FAILED", "failed", "lost", "unruled", "fail"};
  constexpr std::array kWarnings = {"KILLED", "RESTARTING", "STOPPING", "silent", "backoff", "stopping", "warn"};
  constexpr std::array kGoodStates = {"SUCCEEDED", "succeeded", "ok"};
  if (std::ranges::count(kBadStates, state) > 0) return Style::kBad;
  if (std::ranges::count(kWarnings, state) > 0) return Style::kWarning;
  return std::ranges::count(kGoodStates, state) > 0 ? Style::kGood : Style::kPlain;
}

std::string Wrapped(std::string_view text, size_t columns, size_t indent) {
  if (columns == 0) return std::string(text);
  std::string out;
  size_t room = columns;
  while (TextWidth(text) > room) {
    // The line is cut at the last blank that fits. A word that is longer than the room stays whole.
    size_t cut = std::string_view::npos;
    for (size_t blank = text.find(' ', 1); blank != std::string_view::npos; blank = text.find(' ', blank + 1)) {
      const bool fits = TextWidth(text.substr(0, blank)) <= room;
      const bool is_text = text.find_first_not_of(' ') < blank;
      if (is_text && (fits || cut == std::string_view::npos)) cut = blank;
      if (!fits) break;
    }
    if (cut == std::string_view::npos) break;
    out += StrCat(text.substr(0, cut), "\n", std::string(indent, ' '));
    text.remove_prefix(cut + 1);
    room = columns - std::min(columns - 1, indent);
  }
  return StrCat(out, text);
}

std::string Fitted(const std::string& text, const TableRoom& room) {
  constexpr size_t kRestIndent = 4;
  if (room.columns == 0 && !room.colour) return text;
  std::string fitted;
  for (const std::string& line : Split(text.substr(0, text.find_last_not_of('\n') + 1), '\n'))
    fitted += Wrapped(SafeText(line), room.columns, kRestIndent) + "\n";
  return fitted;
}

size_t ColumnsOfStandardOutput() {
  return isatty(STDOUT_FILENO) == 1 ? static_cast<size_t>(SizeOf(STDOUT_FILENO).columns) : 0;
}

Result<TableRoom> RoomOnStandardOutput(const CommandLine& line) {
  TableRoom room = {ColumnsOfStandardOutput(), WantsColour(STDOUT_FILENO)};
  if (!line.Has("color")) return room;
  const std::string when = line.Value("color");
  if (when != "auto" && when != "always" && when != "never")
    return Error{ErrorCode::kUsage, StrCat("--color \"", when, "\": expected auto, always or never")};
  if (when != "auto") room.colour = when == "always";
  return room;
}

}  // namespace tony
