#include "runtime/job/failure_rules.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <optional>
#include <string>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/log_lines.h"
#include "runtime/job/stated_causes.h"

namespace tony {
namespace {

constexpr size_t kLongestPattern = 256;
constexpr size_t kLongestLine = 1024;

// Returns the part of the pattern that would make the time of a match unbounded; nullopt if no part would. Nested
// counts multiply the size of the automaton, and back-references make the C library backtrack. Without both, the
// automaton of a pattern is at most as large as the text of the pattern.
std::optional<std::string> Unbounded(std::string_view pattern) {
  for (size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] == '{') return "a count {...}; write \\{ to match the character {";
    if (pattern[at] != '\\' || ++at == pattern.size()) continue;
    if (pattern[at] >= '1' && pattern[at] <= '9') return StrCat("a back-reference \\", pattern[at]);
  }
  return std::nullopt;
}

// A shell reports a command that signal n ended as exit code 128 + n.
constexpr int kShellBase = 128;

// Checks all conditions of the rule except the pattern.
bool FactsHold(const FailureRule& rule, const Evidence& evidence) {
  if (rule.exit_code && evidence.exit != ExitStatus{ExitStatus::Kind::kExited, *rule.exit_code}) return false;
  if (rule.signal && !DiedOf(evidence.exit, *rule.signal)) return false;
  if (rule.scheduler_status && evidence.scheduler_status != rule.scheduler_status) return false;
  if (rule.full_disk && (evidence.full_disk.empty() || !EndedByItself(evidence.exit))) return false;
  return !rule.oom || evidence.oom == *rule.oom;
}

// Returns the compiled pattern of the rule. Returns nothing if the rule has no pattern, or if this release refuses the
// pattern. A pattern can be refused if another release wrote the spec.
std::optional<LinePattern> Compiled(const FailureRule& rule) {
  const auto parsed = LinePattern::Parse(rule.pattern);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// Returns the compiled pattern of the rule. The patterns of built-in rules are compiled only once.
std::optional<LinePattern> PatternOf(const FailureRule& rule) {
  const auto built_in = BuiltInRules();
  static const auto& all = *[&] {
    auto* patterns = new std::vector<std::optional<LinePattern>>;
    for (const FailureRule& one : built_in) patterns->push_back(Compiled(one));
    return patterns;
  }();
  const bool is_built_in =
      std::less_equal()(built_in.data(), &rule) && std::less()(&rule, built_in.data() + built_in.size());
  return is_built_in ? all[static_cast<size_t>(&rule - built_in.data())] : Compiled(rule);
}

// Returns the place of the latest line for which `rule` holds, counted from 1; 0 if the rule holds for no line.
size_t PlaceOf(const FailureRule& rule, const Evidence& evidence, const std::vector<std::string>& lines) {
  if (!FactsHold(rule, evidence)) return 0;
  const auto pattern = PatternOf(rule);
  if (!pattern) return 0;
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [&](const auto& line) { return pattern->Matches(line); });
  return static_cast<size_t>(lines.rend() - last);
}

struct Judgement {
  const FailureRule* rule = nullptr;
  // The cause or the line that the message quotes; may be empty.
  std::string quote;
  bool needs_stdout = false;
  // The text of the cause, if the cause stands before the last lines of stderr.
  std::string before;
};

Judgement Judge(const Evidence& evidence, std::span<const FailureRule> extra) {
  // A process cannot write about the SIGHUP, SIGTERM or SIGKILL that ends it, so its last lines are about something
  // else. SIGINT is an exception, because Python reports it.
  const bool killed = !EndedByItself(evidence.exit) && !DiedOf(evidence.exit, SIGINT);
  Evidence heard = evidence;
  if (killed)
    for (std::string* lines : {&heard.stdout_tail, &heard.stdout_text, &heard.stderr_tail, &heard.stderr_text})
      lines->clear();
  const FirstCause cause = FindFirstCause(heard);
  const FailureLines all(evidence, cause.rule ? cause.before : "");
  if (const RuleMatch own = FirstMatchingRule(extra, evidence, all.all()); own.rule)
    return {own.rule, all.Quoted(own.place), all.NeedsStdout(own.place), cause.before};
  if (cause.rule) return {cause.rule, cause.Quoted(), cause.on_stdout, cause.before};
  const FailureLines lines(cause.rest, "");
  const RuleMatch found = FirstMatchingRule(BuiltInRules(), heard, lines.all());
  CHECK(found.rule);  // The last built-in rule always holds.
  const bool quotes_last = found.place == 0 && HoldsByExitCodeAlone(*found.rule, evidence);
  return {found.rule, quotes_last ? lines.QuotedLast() : lines.Quoted(found.place),
          killed ? all.NeedsStdout(0) : lines.NeedsStdout(found.place), cause.before};
}

std::string MessageOf(const Evidence& evidence, const Judgement& judged) {
  const FailureRule& rule = *judged.rule;
  const bool overruled = evidence.report && evidence.report->cls;
  const bool numbers = rule.oom == OomEvidence::kCgroup && !evidence.oom_detail.empty();
  std::string message = evidence.report ? OneClause(evidence.report->message) : "";
  if (message.empty() && overruled) message = "the class is from the task's error file";
  if (message.empty() && !numbers) message = judged.quote;
  // The meaning is left out if it adds nothing. The last built-in rule only says that the program failed, and a quoted
  // exception explains itself.
  const bool needs_no_meaning = &rule == &BuiltInRules().back() || (IsGeneric(rule) && !message.empty());
  if (!overruled && !needs_no_meaning) {
    message += StrCat(message.empty() ? "" : ": ", numbers ? evidence.oom_detail : rule.meaning);
    if (rule.full_disk) message += StrCat(" (", evidence.full_disk, ")");
  }
  if (!evidence.report_problem.empty()) message += StrCat(message.empty() ? "" : "; ", evidence.report_problem);
  return message;
}

}  // namespace

struct LinePattern::Compiled {
  Compiled() = default;
  Compiled(const Compiled&) = delete;
  ~Compiled() {
    if (is_set) regfree(&expression);
  }

  regex_t expression{};
  bool is_set = false;
};

Result<LinePattern> LinePattern::Parse(std::string_view pattern) {
  const auto fail = [](const std::string& what) { return Error{ErrorCode::kInvalid, what}; };
  if (pattern.empty()) return fail("the expression is empty");
  if (pattern.size() > kLongestPattern)
    return fail(StrCat("the expression is longer than ", kLongestPattern, " bytes"));
  if (pattern.find('\0') != std::string_view::npos) return fail("the expression contains a NUL character");
  if (const auto what = Unbounded(pattern)) return fail("the expression contains " + *what);
  auto compiled = std::make_shared<Compiled>();
  const int error = regcomp(&compiled->expression, std::string(pattern).c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char text[128];
    regerror(error, &compiled->expression, text, sizeof(text));
    return fail(ToLower(text));
  }
  compiled->is_set = true;
  LinePattern result;
  result.compiled_ = std::move(compiled);
  return result;
}

bool LinePattern::Matches(std::string_view line) const {
  const std::string text(line.substr(0, std::min(line.size(), kLongestLine)));
  return regexec(&compiled_->expression, text.c_str(), 0, nullptr, 0) == 0;
}

FailureLines::FailureLines(const Evidence& evidence, std::string_view before) {
  Add(evidence.stdout_tail);
  stdout_end_ = lines_.size();
  Add(before);
  before_end_ = lines_.size();
  Add(evidence.stderr_tail);
  stderr_end_ = lines_.size();
  if (evidence.report) Add(evidence.report->message);
}

void FailureLines::Add(std::string_view text) {
  if (text.empty()) return;
  for (auto& line : Split(text, '\n')) lines_.push_back(std::move(line));
}

std::string FailureLines::Quoted(size_t place) const {
  if (place == 0 || place > stderr_end_) return "";
  return StrCat(OneClause(lines_[place - 1]), place <= stdout_end_ ? " (on stdout)" : "");
}

std::string FailureLines::QuotedLast() const {
  const auto of_report = InReports(lines_);
  const auto says_something = [&](size_t at) { return !of_report[at] && !ExplainsNothing(lines_[at]); };
  const auto is_text = [&](size_t at) { return lines_[at].find_first_not_of("-=*_ \t") != std::string::npos; };
  const auto last_before = [](size_t begin, size_t end, const auto& is_good) {
    while (end > begin && !is_good(end - 1)) --end;
    return end == begin ? 0 : end;
  };
  size_t place = last_before(before_end_, stderr_end_, says_something);
  if (place == 0) place = last_before(0, stdout_end_, says_something);
  if (place == 0) place = last_before(before_end_, stderr_end_, [&](size_t at) { return IsMpirunMessage(lines_[at]); });
  if (place == 0) place = last_before(before_end_, stderr_end_, is_text);
  return place == 0 ? "" : StrCat("its last line: ", Quoted(place));
}

bool FailureLines::NeedsStdout(size_t place) const {
  if (place > 0) return place <= stdout_end_;
  return std::all_of(lines_.begin() + static_cast<ptrdiff_t>(stdout_end_), lines_.end(), IsEmptyLine);
}

std::string OneClause(std::string_view text) {
  constexpr size_t kLongest = 300;
  std::string line(Trim(text.substr(0, text.find('\n'))));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  if (line.size() > kLongest) line = line.substr(0, ValidUtf8Prefix(line.substr(0, kLongest))) + "...";
  return line;
}

bool DiedOf(const std::optional<ExitStatus>& exit, int signal) {
  if (!exit) return false;
  return exit->value == (exit->kind == ExitStatus::Kind::kSignaled ? signal : kShellBase + signal);
}

bool EndedByItself(const std::optional<ExitStatus>& exit) {
  constexpr std::array kFromOthers = {SIGHUP, SIGINT, SIGTERM, SIGKILL};
  return std::ranges::none_of(kFromOthers, [&](int signal) { return DiedOf(exit, signal); });
}

RuleMatch FirstMatchingRule(std::span<const FailureRule> rules, const Evidence& evidence,
                            const std::vector<std::string>& lines) {
  RuleMatch latest;
  for (const auto& rule : rules) {
    if (!rule.pattern.empty()) {
      const size_t place = PlaceOf(rule, evidence, lines);
      if (place > latest.place) latest = {&rule, place};
      continue;
    }
    if (latest.rule) return latest;
    if (FactsHold(rule, evidence)) return {&rule};
  }
  return latest;
}

bool HoldsByExitCodeAlone(const FailureRule& rule, const Evidence& evidence) {
  const bool by_code = evidence.exit && evidence.exit->kind == ExitStatus::Kind::kExited && !rule.signal && !rule.oom;
  return by_code && (rule.cls == OutcomeClass::kUserError || rule.cls == OutcomeClass::kUserConfig);
}

bool IsGeneric(const FailureRule& rule) { return &rule == &BuiltInRules().back() || rule.name == "python-exception"; }

const FailureRule& RuleFor(const Evidence& evidence, std::span<const FailureRule> extra) {
  return *Judge(evidence, extra).rule;
}

Outcome Classify(const Evidence& evidence, std::span<const FailureRule> extra) {
  if (evidence.exit && evidence.exit->Succeeded()) return {.cls = OutcomeClass::kSuccess, .exit = evidence.exit};
  const Judgement judged = Judge(evidence, extra);
  Outcome outcome{.cls = judged.rule->cls,
                  .exit = evidence.exit,
                  .message = MessageOf(evidence, judged),
                  .stderr_tail = judged.before.empty() ? evidence.stderr_tail
                                                       : StrCat(judged.before, "[...]\n", evidence.stderr_tail),
                  .stdout_tail = judged.needs_stdout ? evidence.stdout_tail : "",
                  .advice = judged.rule->advice,
                  .source = judged.rule->source};
  if (!evidence.report) return outcome;
  // A class in the report replaces the class of the rule. The rule's advice and source are dropped with it, because
  // they belong to the rule's class.
  if (evidence.report->cls) {
    outcome.advice = Advice::kNone;
    outcome.source = Source::kItself;
  }
  outcome.cls = evidence.report->cls.value_or(outcome.cls);
  if (evidence.report->advice != Advice::kNone) outcome.advice = evidence.report->advice;
  return outcome;
}

}  // namespace tony
