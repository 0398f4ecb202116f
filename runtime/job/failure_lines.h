// The lines that a failed program left: what rules for lines look at, and what a message quotes of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/failure_rules.h"

namespace tony {

class FailureLines {
 public:
  // `before`: the cause, where it stands before the last lines of stderr; else empty.
  FailureLines(const Evidence& evidence, std::string_view before);

  const std::vector<std::string>& all() const { return lines_; }  // in the order of RuleFor()

  // A line of all(), counted from 1, for a message; "" if it is of the report, which a message begins with anyway.
  std::string Quoted(size_t place) const;
  // The last line that says something, for a message where no line decided.
  std::string QuotedLast() const;

  // Stdout is shown where the line that decided is there (`place`, 0: none), or stderr has none.
  bool NeedsStdout(size_t place) const;

 private:
  void Add(std::string_view text);

  std::vector<std::string> lines_;
  size_t stdout_end_ = 0, before_end_ = 0, stderr_end_ = 0;  // places
};

// A message is one clause of a verdict: the first line, cut where it is too long, without control characters.
std::string OneClause(std::string_view text);

}  // namespace tony
