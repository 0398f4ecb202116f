// Readers of single causes for stated_causes.cc. Each one gets the lines of one process and a place among them;
// nothing: no cause of its kind is there. The caller goes on behind the cause, so that each line is read a bounded
// number of times.
#pragma once

#include <optional>
#include <vector>

#include "runtime/job/log_lines.h"
#include "runtime/job/stated_causes.h"

namespace tony {

struct ReadCause {
  // How a Python exception belongs to the one before it.
  enum class Chain { kNone, kCausedBy, kWhileHandling, kIsInside };

  // `begin` and `end` are places in the lines of the process.
  StatedCause cause;
  Chain chain = Chain::kNone;
  // The frames begin within the program, because something caught the exception and printed it. An exception that
  // nobody caught begins at the module.
  bool is_caught = false;
};

using LogLines = std::vector<LogLine>;

// `floor`: lines before it belong to other causes.
std::optional<ReadCause> ReadPython(const LogLines& lines, size_t at, size_t floor);
// `at` is the place of the first frame.
std::optional<ReadCause> ReadJava(const LogLines& lines, size_t at, size_t floor);
// `halted` is the place of "Execution halted".
std::optional<ReadCause> ReadR(const LogLines& lines, size_t at, size_t halted);
// Panics of Go and Rust, and fatal errors of Python itself.
std::optional<ReadCause> ReadPanic(const LogLines& lines, size_t at);

// "ValueError: bad", "MemoryError", "ray.exceptions.RayTaskError(ValueError): x".
bool LooksLikeException(std::string_view line);

}  // namespace tony
