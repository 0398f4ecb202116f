// Classifies why an attempt ended, by a table of rules: the built-in rules and the job's own rules. FAILURES.md is the
// manual of the rules.
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

// A regular expression for one line of text from an untrusted program. The syntax is POSIX extended with \w, \s and \b,
// without {counts} and back-references. Without these two, the time of a match grows only with the length of the line,
// for any line and pattern. Case matters; ^ and $ match the ends of the line.
class LinePattern {
 public:
  // kInvalid says what is wrong with the pattern, without quoting the pattern. A pattern has at most 256 bytes.
  static Result<LinePattern> Parse(std::string_view pattern);

  // Matches the first 1024 bytes of the line.
  bool Matches(std::string_view line) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// The findings about the kernel's out-of-memory killer during an attempt.
enum class OomEvidence {
  kUnknown,  // the kernel's counters cannot be read
  // The kernel ended no process for lack of memory, neither in the attempt's cgroup nor elsewhere on the machine.
  kNone,
  // The kernel ended processes on the machine for lack of memory. It is unknown whether they belonged to the attempt.
  kMachine,
  // The kernel killed processes of the attempt's cgroup for lack of memory.
  kCgroup,
};
constexpr auto NamesOf(OomEvidence) { return EnumNames("unknown", "none", "machine", "cgroup"); }

// A rule holds if all of its conditions hold. A rule without conditions always holds.
struct FailureRule {
  // The name of the rule, unique among the built-in rules. The job's own rules are named by their keys, without
  // "tony.failure.".
  std::string name;
  std::optional<int> exit_code;  // 0 to 255
  // The process died of this signal, or a shell reported that by exit code 128 + signal.
  std::optional<int> signal;
  std::optional<int> scheduler_status;  // YARN's exit status of the container
  std::optional<OomEvidence> oom;
  // True: the rule holds only if the disk under one of the attempt's folders is full.
  bool full_disk = false;
  // A LinePattern. The rule holds only if one of the lines that RuleFor() describes matches. Empty: no condition.
  std::string pattern;

  OutcomeClass cls = OutcomeClass::kUserError;
  Advice advice = Advice::kNone;
  Source source = Source::kItself;
  // The rule's explanation for people, one clause.
  std::string meaning;
  // Hints on what to check or to do; may be empty.
  std::string remedy;
  bool operator==(const FailureRule&) const = default;
};

// All observations about an attempt that ended by itself, or that its scheduler ended.
struct Evidence {
  std::optional<ExitStatus> exit;
  std::optional<int> scheduler_status;
  OomEvidence oom = OomEvidence::kUnknown;
  // Details of the out-of-memory kill in the attempt's cgroup, with numbers; may be empty.
  std::string oom_detail;
  std::optional<ErrorReport> report;  // the program's own report
  // The reason why the program's error file could not be read. Empty: the file was read, or the program left no file.
  std::string report_problem;
  // The last lines of stderr and stdout, for people.
  std::string stderr_tail, stdout_tail;
  // The last MiB of stderr and of stdout, which is searched for causes. Empty: `stderr_tail` or `stdout_tail` is
  // already the whole text.
  std::string stderr_text, stdout_text;
  // The folder of the attempt that lies on a full disk; empty: no disk is full.
  std::string full_disk;
};

// Returns the built-in rules in order of precedence. The last rule always holds.
std::span<const FailureRule> BuiltInRules();

// Returns the first rule that holds for the evidence. The job's own rules (`extra`) go before the built-in ones. A
// built-in rule with a pattern is matched against the cause that the program states (stated_causes.h), or against the
// last lines if no cause is stated. The job's own rules are always matched against the last lines. The order of the
// last lines is: the lines of stdout; the stated cause, if it stands before the last lines of stderr; the lines of
// stderr; the message of the program's report. If several neighbouring rules with a pattern hold, the rule that matches
// the latest line in this order is returned.
const FailureRule& RuleFor(const Evidence& evidence, std::span<const FailureRule> extra);

// Returns the outcome. Exit code 0 is always a success; all other observations are then ignored. A class or an advice
// in the program's own report takes precedence over all rules. The message quotes the cause or the line that a rule
// matched, or else the last line. After the quote, the message explains the meaning of the rule. If two causes compete,
// the second one follows in brackets.
Outcome Classify(const Evidence& evidence, std::span<const FailureRule> extra);

// ---- The lines that a failed program left: rules match them, and messages quote them.

class FailureLines {
 public:
  // `before` is the text of the stated cause if the cause stands before the last lines of stderr. Otherwise `before` is
  // empty.
  FailureLines(const Evidence& evidence, std::string_view before);

  // Returns the lines in the order that RuleFor() describes.
  const std::vector<std::string>& all() const { return lines_; }

  // Returns a line of all() for a message; `place` counts from 1. Returns "" for a line of the report, because the
  // message begins with the report anyway.
  std::string Quoted(size_t place) const;
  // Returns the last line that may explain the failure. A message quotes it if no rule matched a line.
  std::string QuotedLast() const;

  // Returns whether the message needs the last lines of stdout: the matched line (`place`) is a line of stdout, or no
  // line matched (`place` is 0) and stderr is empty.
  bool NeedsStdout(size_t place) const;

 private:
  void Add(std::string_view text);

  std::vector<std::string> lines_;
  // The positions in `lines_` behind the last line of each part.
  size_t stdout_end_ = 0, before_end_ = 0, stderr_end_ = 0;
};

// Returns the first line of the text as a clause for a verdict: without control characters, and cut if it is too long.
std::string OneClause(std::string_view text);

// ---- The search for the rule that holds

// Returns whether the process died of the signal, or a shell has reported so by its exit code.
bool DiedOf(const std::optional<ExitStatus>& exit, int signal);
// Returns false if the process died of a signal that another process usually sends: SIGHUP, SIGINT, SIGTERM or SIGKILL.
bool EndedByItself(const std::optional<ExitStatus>& exit);

struct RuleMatch {
  const FailureRule* rule = nullptr;
  // The number of the line for which the rule holds, from 1; 0: the rule needs no line.
  size_t place = 0;
};

// Returns the first rule that holds. Among neighbouring rules with a pattern, returns the one that matches the latest
// line.
RuleMatch FirstMatchingRule(std::span<const FailureRule> rules, const Evidence& evidence,
                            const std::vector<std::string>& lines);

// Returns whether the rule holds by exit code alone. Such a rule explains little, so a message quotes the program
// first.
bool HoldsByExitCodeAlone(const FailureRule& rule, const Evidence& evidence);

// Returns whether the rule's meaning adds nothing to a quoted cause, e.g. "the program failed".
bool IsGeneric(const FailureRule& rule);

}  // namespace tony
