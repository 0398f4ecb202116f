// A regular expression for one line of text that nobody vouches for.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/exit_status.h"
#include "runtime/base/names.h"
#include "runtime/base/result.h"
#include "runtime/job/error_report.h"
#include "runtime/job/outcome.h"

namespace tony {

// POSIX extended syntax with \w, \s and \b, without {counts} and back-references: what is left matches in time that
// grows with the line, whatever the line and the pattern. Case counts; ^ and $ are the ends of the line.
class LinePattern {
 public:
  // kInvalid says what is wrong with it, without quoting it. At most 256 bytes.
  static Result<LinePattern> Parse(std::string_view pattern);

  // Looks at the first 1024 bytes of the line.
  bool Matches(std::string_view line) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// What the end of an attempt means: a table of rules, the built-in ones and the job's own. FAILURES.md is their manual.

// What is known of the kernel's out-of-memory killer during an attempt.
enum class OomEvidence {
  kUnknown,  // nothing can be known here
  kNone,     // it ended nothing in the attempt's cgroup, nor on the machine
  kMachine,  // it ended processes of the machine; whose, nobody can tell
  kCgroup,   // it ended processes of the attempt's cgroup
};
constexpr auto NamesOf(OomEvidence) { return EnumNames("unknown", "none", "machine", "cgroup"); }

// All conditions that a rule sets must hold. One that sets none holds always.
struct FailureRule {
  std::string name;              // unique among the built-in ones; the job's own: the key without "tony.failure."
  std::optional<int> exit_code;  // 0 to 255
  std::optional<int> signal;     // the process died of it, or a shell says so by exit code 128 + signal
  std::optional<int> scheduler_status;  // YARN's exit status of the container
  std::optional<OomEvidence> oom;
  bool full_disk = false;  // there is no room left under the attempt's folders
  std::string pattern;     // a LinePattern; see RuleFor(). Empty: no condition

  OutcomeClass cls = OutcomeClass::kUserError;
  Advice advice = Advice::kNone;
  Source source = Source::kItself;
  std::string meaning;  // one clause for a person
  std::string remedy;   // what to look at or to do; may be empty
  bool operator==(const FailureRule&) const = default;
};

// Everything that was seen of an attempt that ended by itself, or that its scheduler ended.
struct Evidence {
  std::optional<ExitStatus> exit;
  std::optional<int> scheduler_status;
  OomEvidence oom = OomEvidence::kUnknown;
  std::string oom_detail;             // what is known of a kill in the cgroup, with its numbers; may be empty
  std::optional<ErrorReport> report;  // the program's own
  std::string report_trouble;         // why there is no report although the program left a file
  // The last lines of the two streams, for people.
  std::string stderr_tail, stdout_tail;
  // The last MiB, in which causes are looked for; empty: the last lines are all.
  std::string stderr_text, stdout_text;
  std::string full_disk;  // the folder of the attempt whose disk has no room left; empty: none
};

// In order of precedence. The last one holds always.
std::span<const FailureRule> BuiltInRules();

// The rule that says what the evidence means: the first that holds, the job's `extra` before the built-in ones. The
// built-in ones with a pattern read the cause that the program states (stated_causes.h), if it states one. All others,
// and those of the job, read the last lines, from what says least to what says most: those of stdout; the cause, where
// it stands before those of stderr; those of stderr; the report's message. Of neighbouring rules with a pattern, the
// one that holds for the latest line is taken.
const FailureRule& RuleFor(const Evidence& evidence, std::span<const FailureRule> extra);

// Exit code 0 is success, whatever else was seen. A class or advice in the program's own report goes before all rules.
// The message quotes the cause or the line that decided, or else the last line, and then says what it means. Where two
// causes compete, it has the second one in brackets.
Outcome Classify(const Evidence& evidence, std::span<const FailureRule> extra);

// The lines that a failed program left: what rules for lines look at, and what a message quotes of them.

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

// The rule that holds for what was seen.

// The process died of the signal, or a shell says so of its command.
bool DiedOf(const std::optional<ExitStatus>& exit, int signal);
// The process did not die of a signal that others send.
bool EndedByItself(const std::optional<ExitStatus>& exit);

struct RuleMatch {
  const FailureRule* rule = nullptr;
  // The line that the rule holds for, counted from 1; 0: the rule needs none.
  size_t place = 0;
};

// The first rule that holds. Of neighbouring ones with a pattern, the one that holds for the latest line.
RuleMatch FirstThatHolds(std::span<const FailureRule> rules, const Evidence& evidence,
                         const std::vector<std::string>& lines);

// A rule by exit code alone says little: what the program said goes before it.
bool SaysLittle(const FailureRule& rule, const Evidence& evidence);

// "It failed", "it has not caught an exception": a cause that is quoted says more.
bool IsGeneric(const FailureRule& rule);

}  // namespace tony
