// A table for people. On a terminal, the table is made to fit the width: first the least important columns are left
// out, and then cells are cut. Elsewhere the table is complete, so that other programs can cut it. All functions are
// pure, except the functions that read the size of standard output.
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
  static constexpr int kNever = -1;  // rank of a column never shown
  TextColumn(std::string_view its_title, int its_rank = 0, bool is_to_the_right = false, size_t its_least = 0)
      : title(its_title), rank(its_rank), to_the_right(is_to_the_right), least(its_least) {}
  std::string_view title;
  // The rank of the column. If not all columns fit, the column with the highest rank is left out first. 0: the column
  // is always shown.
  int rank;
  bool to_the_right;
  // The width to which a cell of the column may be cut; 0: cells are never cut.
  size_t least;
};

struct StyledText {
  StyledText(std::string its_text, Style its_style = Style::kPlain) : text(std::move(its_text)), style(its_style) {}
  StyledText(std::string_view its_text) : text(its_text) {}
  StyledText(const char* its_text) : text(its_text) {}
  std::string text;  // safe for a terminal (SafeLine)
  Style style = Style::kPlain;
};

struct TableRoom {
  size_t columns = 0;  // 0: unlimited
  bool colour = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns, std::string indent = "")
      : columns_(std::move(columns)), indent_(std::move(indent)) {}
  // Adds a row with one cell per column. Cells without a style of their own get `style`.
  void Add(std::vector<StyledText> row, Style style = Style::kPlain);
  std::string Text(const TableRoom& room) const;

 private:
  std::vector<size_t> Widths(const TableRoom& room) const;  // 0: the column is left out

  std::vector<TextColumn> columns_;
  std::string indent_;
  std::vector<std::vector<StyledText>> rows_;
};

// Returns the style in which the state of a job, a task or a check is shown.
Style StyleOfState(std::string_view state);

// Returns the text broken at blanks into lines of at most `columns` columns. Lines after the first begin with `indent`
// blanks. 0 columns: the text stays unchanged.
std::string Wrapped(std::string_view text, size_t columns, size_t indent);

// Returns lines that are safe for a terminal and fit its width. Only a word that is longer than the width exceeds it.
// Without a terminal, returns the text unchanged.
std::string Fitted(const std::string& text, const TableRoom& room);

// Returns the width of standard output and whether it gets colours. --color decides about colours; without this option,
// the terminal and $NO_COLOR decide. Returns kUsage if --color is not auto, always or never.
Result<TableRoom> RoomOnStandardOutput(const CommandLine& line);
size_t ColumnsOfStandardOutput();  // 0: not a terminal

}  // namespace tony
