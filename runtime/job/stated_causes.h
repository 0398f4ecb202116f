// Causes of a failure that a program, its runtime and its launchers state in a log: exceptions, panics, reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/failure_rules.h"
#include "runtime/job/log_lines.h"

namespace tony {

struct StatedCause {
  // The kinds in order, from the most likely cause to a statement that is never the cause.
  enum class Kind {
    // A launcher's report names the process with this cause as the first process that failed.
    kNamed,
    // The exception ended a main program.
    kUncaught,
    // The exception ended a child process. The main program may state more.
    kChild,
    // The exception ended a thread, which a main program survives.
    kThread,
    // A logger or the program printed the exception, and the program continued.
    kHandled,
    // A launcher states that one of its processes failed.
    kLauncher,
    // The exception came from a destructor, an atexit function or a log handler. Such an exception does not change the
    // exit code.
    kIgnored,
  };

  Kind kind = Kind::kUncaught;
  // The statement itself, e.g. "ValueError: bad batch".
  std::string line;
  // A remark such as "in thread Thread-1" or "caused by OSError: ..."; may be empty.
  std::string remark;
  // Further lines of the statement. Rules are matched against them if no specific rule matches `line`.
  std::vector<std::string> more;
  // The prefix that a launcher gives to the process, e.g. "[rank1]:"; may be empty.
  std::string process;
  // The statement as people see it. A long statement lacks the frames of libraries.
  std::string shown;
  // The positions in the text of the first line and of the line after the last one.
  size_t begin = 0, end = 0;
};

struct StatedCauses {
  // The causes; the most likely one is the first.
  std::vector<StatedCause> causes;
  // All lines of the text.
  std::vector<std::string> lines;
  // The places of the lines that belong neither to a cause nor to a launcher's report.
  std::vector<size_t> plain;
  // True: several processes may have written the text.
  bool has_launcher = false;
  // The first failed process in torchrun's report, e.g. "rank 1, exit code 3"; may be empty.
  std::string first_failed;
};

// Reads the end of a log. The caller has removed the control characters from the text. For every text, the time grows
// only with the size of the text.
StatedCauses ReadStatedCauses(std::string_view text);

// Returns whether the line reports a failed shell command, e.g. "cp: cannot stat 'x': No such file or directory".
// Commands that clean up do not count.
bool IsFailedCommand(std::string_view line);

// ---- Readers of single causes, for stated_causes.cc. Each reader gets the lines of one process and a place among
// them. A reader returns nothing if no cause of its kind is there. The caller continues after the cause, so each line
// is read a limited number of times.

struct ReadCause {
  // How a Python exception is linked to the exception before it.
  enum class Chain { kNone, kCausedBy, kWhileHandling, kIsInside };

  // `begin` and `end` are places in the lines of the process.
  StatedCause cause;
  Chain chain = Chain::kNone;
  // True: some code of the program caught the exception and printed it, so the first frame is inside a function. The
  // first frame of an uncaught exception is at module level.
  bool is_caught = false;
};

using LogLines = std::vector<LogLine>;

// Reads a Python traceback. Lines before `floor` belong to other causes.
std::optional<ReadCause> ReadPython(const LogLines& lines, size_t at, size_t floor);
// Reads a stack of Java or Node.js. `at` is the place of the first frame.
std::optional<ReadCause> ReadJava(const LogLines& lines, size_t at, size_t floor);
// Reads an error of R. `halted` is the place of "Execution halted".
std::optional<ReadCause> ReadR(const LogLines& lines, size_t at, size_t halted);
// Reads panics of Go and Rust, and fatal errors of Python itself.
std::optional<ReadCause> ReadPanic(const LogLines& lines, size_t at);

// Returns whether the line has the form of an exception: "ValueError: bad", "MemoryError",
// "ray.exceptions.RayTaskError(ValueError): x".
bool LooksLikeException(std::string_view line);

// ---- The choice of the stated cause that explains why the program ended

struct FirstCause {
  // The cause in the program's own words; may be empty.
  std::string line;
  // A second cause, or how the first cause came about; may be empty.
  std::string remark;
  bool on_stdout = false;
  // The rule that holds for the cause. Null: the program states no cause, and the rules are applied to `rest`.
  const FailureRule* rule = nullptr;
  // The whole statement for people, if it stands before the last lines of stderr.
  std::string before;
  // The evidence, with last lines that lack ignored exceptions, warnings, and log records that are not about a problem.
  Evidence rest;

  // Returns one clause, e.g. "ValueError: bad (caused by KeyError: 7)".
  std::string Quoted() const;
};

FirstCause FindFirstCause(const Evidence& evidence);

}  // namespace tony
