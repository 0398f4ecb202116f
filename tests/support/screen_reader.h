// The text that a person sees on a terminal of a given size. Interprets the bytes that our programs send (text, line
// ends, cursor up, erase, styles) and fails on any other escape sequence. Wraps lines that no longer fit when the
// terminal becomes narrower.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cli/terminal.h"

namespace tony {

class ScreenReader {
 public:
  explicit ScreenReader(TerminalSize size) : size_(size) { rows_.push_back({}); }

  void Take(std::string_view bytes) {
    pending_ += bytes;
    while (!pending_.empty()) {
      const size_t used = TakeOne(pending_);
      if (used == 0) return;  // the sequence is incomplete
      pending_.erase(0, used);
    }
  }

  void Resize(TerminalSize size) {
    size_ = size;
    const bool at_end = row_ + 1 == rows_.size();
    std::vector<std::string> wrapped;
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (std::string rest = rows_[i];;) {
        const auto width = static_cast<size_t>(size_.columns);
        wrapped.push_back(rest.substr(0, width));
        if (rest.size() <= width) break;
        rest.erase(0, width);
      }
    }
    rows_ = wrapped;
    EXPECT_TRUE(at_end) << "the cursor is below the block between two drawings";
    row_ = rows_.size() - 1;
    Scroll();
  }

  // True after a whole drawing: a drawing ends with "erase to the end of the screen", and no text follows it.
  bool IsDrawn() const { return is_drawn_; }

  // Returns the text without blanks at the ends of lines, and without empty rows at the end.
  std::string Text() const { return Join(top_, rows_.size()); }
  std::string ScrolledAway() const { return Join(0, top_); }

 private:
  size_t TakeOne(std::string_view bytes) {
    is_drawn_ = false;
    if (bytes[0] == '\x1b') return TakeEscape(bytes);
    if (bytes[0] == '\r') {
      column_ = 0;
    } else if (bytes[0] == '\n') {
      Down();
    } else {
      Put(bytes[0]);
    }
    return 1;
  }

  size_t TakeEscape(std::string_view bytes) {
    const size_t end = bytes.find_first_not_of("0123456789;", 2);
    if (bytes.size() < 3 || end == std::string_view::npos) return 0;
    const std::string number(bytes.substr(2, end - 2));
    switch (bytes[1] == '[' ? bytes[end] : '?') {
      case 'A':
        row_ = std::max(top_, row_ - std::min(row_, static_cast<size_t>(std::stoi(number))));
        break;
      case 'K':
        rows_[row_].resize(std::min(rows_[row_].size(), column_));
        break;
      case 'J':
        rows_[row_].resize(std::min(rows_[row_].size(), column_));
        rows_.resize(row_ + 1);
        is_drawn_ = true;
        break;
      case 'm':
        break;
      default:
        ADD_FAILURE() << "an escape sequence that a terminal must not get: " << bytes.substr(1, 20);
    }
    return end + 1;
  }

  void Put(char c) {
    EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ') << "control character " << static_cast<int>(c);
    if (column_ == static_cast<size_t>(size_.columns)) {
      column_ = 0;
      Down();
    }
    std::string& row = rows_[row_];
    row.resize(std::max(row.size(), column_ + 1), ' ');
    row[column_++] = c;
  }

  void Down() {
    if (++row_ == rows_.size()) rows_.emplace_back();
    Scroll();
  }

  void Scroll() {
    const auto height = static_cast<size_t>(size_.rows);
    top_ = std::max(top_, rows_.size() > height ? rows_.size() - height : 0);
  }

  std::string Join(size_t from, size_t to) const {
    std::string text;
    for (size_t i = from; i < to; ++i) text += rows_[i].substr(0, rows_[i].find_last_not_of(' ') + 1) + "\n";
    while (text.ends_with("\n\n") || text == "\n") text.pop_back();
    return text;
  }

  TerminalSize size_;
  std::vector<std::string> rows_;  // scrolled away and visible
  size_t top_ = 0;                 // first visible row
  size_t row_ = 0, column_ = 0;
  std::string pending_;
  bool is_drawn_ = false;
};

}  // namespace tony
