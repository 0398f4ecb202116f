// What `tony logs` is asked for.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/cli/command_line.h"
#include "runtime/job/job_spec.h"
#include "runtime/logs/log_choice.h"
#include "runtime/records/job_records.h"

namespace tony {

// A regular expression that lines are searched for, in RE2's syntax: time and memory are linear in what is searched,
// whatever the expression.

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

struct LogOrder {
  bool json = false;
  bool follow = false;
  bool timestamps = false;
  std::optional<int64_t> lines;  // the last so many of each stream
  std::optional<Instant> since;
  std::optional<LogPattern> pattern;
  size_t limit = std::numeric_limits<size_t>::max();  // bytes of one answer
  LogCursor cursor;
};

// kUsage: options that do not go together, or values that cannot be read. `now`: what an age counts from.
Result<LogOrder> ReadLogOrder(const CommandLine& line, Instant now);

// The tasks that the words behind JOB name: roles, tasks, attempts of tasks; none: all. kNotFound: the job has no such.
Result<LogChoice> ReadLogChoice(const CommandLine& line, const JobId& job, const JobSpec& spec);

}  // namespace tony
