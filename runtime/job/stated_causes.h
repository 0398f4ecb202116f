// The causes of its end that a program, its runtime and its launchers state in a log: exceptions, panics, reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/failure_rules.h"
#include "runtime/job/log_lines.h"

namespace tony {

struct StatedCause {
  // From what is most likely the cause to what is none.
  enum class Kind {
    // A launcher's report names the process as the first that failed.
    kNamed,
    // A main program ended with it.
    kUncaught,
    // A child ended with it, and the main program may say more.
    kChild,
    // A thread ended with it, which a main program survives.
    kThread,
    // A logger or the program printed it, and the program went on.
    kHandled,
    // A launcher says it about one of its processes.
    kLauncher,
    // A destructor, an atexit function or a handler of logs raised it, which changes no exit code.
    kIgnored,
  };

  Kind kind = Kind::kUncaught;
  // "ValueError: bad batch".
  std::string line;
  // "in thread Thread-1", "caused by OSError: ..."; may be empty.
  std::string remark;
  // Further lines, for rules that find nothing in `line`.
  std::vector<std::string> more;
  // The launcher's prefix of the process, "[rank1]:"; may be empty.
  std::string process;
  // The whole of it for a person, without frames of libraries if it is long.
  std::string shown;
  // The places of its lines in the text; `end` is behind the last.
  size_t begin = 0, end = 0;
};

struct StatedCauses {
  // The most likely cause is the first.
  std::vector<StatedCause> causes;
  // All lines of the text.
  std::vector<std::string> lines;
  // The places of the lines that belong neither to a cause nor to a launcher's report.
  std::vector<size_t> plain;
  // Several processes may have written the text.
  bool has_launcher = false;
  // "rank 1, exit code 3" in torchrun's report; may be empty.
  std::string first_failed;
};

// Reads the end of a log, without control characters. The time grows with the text, whatever the text is.
StatedCauses ReadStatedCauses(std::string_view text);

// A command of a shell that failed, as "cp: cannot stat 'x': No such file or directory", except one that cleans up.
bool IsOfCommand(std::string_view line);

// Readers of single causes for stated_causes.cc. Each one gets the lines of one process and a place among them;
// nothing: no cause of its kind is there. The caller goes on behind the cause, so that each line is read a bounded
// number of times.

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

// The choice of the one cause, of those that a program states, which is why it ended.

struct FirstCause {
  // The words of the program; may be empty.
  std::string line;
  // A second cause, or how the first came about; may be empty.
  std::string remark;
  bool on_stdout = false;
  // Null: the program states no cause, and `rest` has to tell.
  const FailureRule* rule = nullptr;
  // The whole of it for a person, if it stands before the last lines of stderr.
  std::string before;
  // The evidence without what was ignored in the last lines.
  Evidence rest;

  // "ValueError: bad (caused by KeyError: 7)", one clause.
  std::string Quoted() const;
};

FirstCause FindFirstCause(const Evidence& evidence);

}  // namespace tony
