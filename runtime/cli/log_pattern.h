// A regular expression that lines are searched for, in RE2's syntax: time and memory are linear in what is searched,
// whatever the expression.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

class LogPattern {
 public:
  // kUsage says what is wrong with it, and where.
  static Result<LogPattern> Parse(const std::string& expression);
  bool IsIn(std::string_view line) const;

 private:
  struct Compiled;
  explicit LogPattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tony
