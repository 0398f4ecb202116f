// Prints the output of tasks for people. With several tasks, each line begins with the name of its task:
//
//   worker:0  | a line of standard output
//   worker:10 ! a line of standard error
//   worker:10/1 | a line of its second process
//   worker:0 | 2026-11-26T14:19:00Z a line with its time
//
// With one task, the bytes are printed unchanged, and a header precedes the output of each further attempt. Lines of
// different tasks are never mixed: an unfinished line gets a line end before a line of another task begins.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/logs/log_choice.h"

namespace tony {

struct LogStyle {
  bool prefixed = false;
  // The width of the widest task name that was printed so far. All later lines use this width.
  size_t label_width = 0;
  // True if the output is a terminal. A terminal gets no control characters that move its cursor out of the line.
  bool is_terminal = false;
  bool colour = false;
  // True if each line is passed separately and is printed with the time at which the task wrote it. If the time is
  // unknown, "-" is printed.
  bool timestamps = false;
};

class LogPrinter {
 public:
  LogPrinter(LogStyle style, std::function<void(std::string_view)> write) : style_(style), write_(std::move(write)) {}

  void operator()(const LogText& log);
  void Finish();  // ends an unfinished line

 private:
  void PrintPlain(const LogText& log);
  std::string Prefix(const LogText& log);
  void AppendLine(std::string& out, std::string_view line) const;

  LogStyle style_;
  const std::function<void(std::string_view)> write_;
  std::string unfinished_;  // stream of the unfinished line
  std::optional<AttemptId> last_;
  bool line_begins_ = true;
};

}  // namespace tony
