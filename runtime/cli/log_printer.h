// What tasks wrote, as a person reads it. Of several tasks, each line begins with its task:
//
//   worker:0  | a line of standard output
//   worker:10 ! a line of standard error
//   worker:10/1 | a line of its second process
//   worker:0 | 2026-11-26T14:19:00Z a line with its time
//
// Of one task, the bytes as they are, with a header where another of its attempts begins. Lines of different tasks are
// never mixed: what has no end yet gets one before another's line begins.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/logs/log_choice.h"

namespace tony {

struct LogStyle {
  bool prefixed = false;
  size_t label_width = 0;    // of the widest task; wider ones widen what follows
  bool is_terminal = false;  // nothing gets there that moves its cursor out of the line
  bool colour = false;
  bool timestamps = false;  // each line comes by itself and begins with when it was written; "-" where nobody knows
};

class LogPrinter {
 public:
  LogPrinter(LogStyle style, std::function<void(std::string_view)> write) : style_(style), write_(std::move(write)) {}

  void operator()(const LogText& log);
  void Finish();  // ends a line that has no end

 private:
  void PrintPlain(const LogText& log);
  std::string Prefix(const LogText& log);
  void AppendLine(std::string& out, std::string_view line) const;

  LogStyle style_;
  const std::function<void(std::string_view)> write_;
  std::string unfinished_;  // the stream whose line has not ended yet
  std::optional<AttemptId> last_;
  bool line_begins_ = true;
};

}  // namespace tony
