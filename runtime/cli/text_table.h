// A table for people. On a terminal it is as wide as that: what matters least is left out, then cells are cut;
// elsewhere it has all there is, for other programs to cut. Pure, but for what is asked of a descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/terminal.h"

namespace tony {

struct TextColumn {
  static constexpr int kNever = -1;  // as rank: it is not shown at all
  TextColumn(std::string_view its_title, int its_rank = 0, bool is_to_the_right = false, size_t its_least = 0)
      : title(its_title), rank(its_rank), to_the_right(is_to_the_right), least(its_least) {}
  std::string_view title;
  int rank;  // 0: always shown; where there is not room for all, those of the highest rank go first
  bool to_the_right;
  size_t least;  // columns to which it may be cut; 0: it is shown whole
};

struct StyledText {
  StyledText(std::string its_text, Style its_style = Style::kPlain) : text(std::move(its_text)), style(its_style) {}
  StyledText(std::string_view its_text) : text(its_text) {}
  StyledText(const char* its_text) : text(its_text) {}
  std::string text;  // SafeLine()
  Style style = Style::kPlain;
};

struct TableRoom {
  size_t columns = 0;  // 0: as many as it takes
  bool colour = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns, std::string indent = "")
      : columns_(std::move(columns)), indent_(std::move(indent)) {}
  // A cell for each column; those without a style of their own have this one.
  void Add(std::vector<StyledText> row, Style style = Style::kPlain);
  std::string Text(const TableRoom& room) const;

 private:
  std::vector<size_t> Widths(const TableRoom& room) const;  // 0: it is left out

  std::vector<TextColumn> columns_;
  std::string indent_;
  std::vector<std::vector<StyledText>> rows_;
};

// How a job's or a task's state is shown.
Style StyleOfState(std::string_view state);

// Lines of at most so many columns, broken at blanks; those behind the first begin with `indent` blanks. 0 columns: as
// it is.
std::string Wrapped(std::string_view text, size_t columns, size_t indent);

// Lines of text, clean for a terminal and none wider than it, but for words that are; elsewhere as they are.
std::string Fitted(const std::string& text, const TableRoom& room);

// What standard output has room for, and whether it takes colours: --color decides, else terminal and $NO_COLOR.
// kUsage: --color is none of auto, always, never.
Result<TableRoom> RoomOnStandardOutput(const CommandLine& line);
size_t ColumnsOfStandardOutput();  // 0: no terminal

}  // namespace tony
