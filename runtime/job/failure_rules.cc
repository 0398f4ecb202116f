#include "runtime/job/failure_rules.h"

#include <algorithm>
#include <csignal>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/base/utf8.h"
#include "runtime/job/line_pattern.h"

namespace tony {
namespace {

constexpr int kShellBase = 128;  // a shell says 128 + n of a command that signal n ended

bool DiedOf(const std::optional<ExitStatus>& exit, int signal) {
  if (!exit) return false;
  return exit->value == (exit->kind == ExitStatus::Kind::kSignaled ? signal : kShellBase + signal);
}

// All conditions but the pattern.
bool FactsHold(const FailureRule& rule, const Evidence& evidence) {
  if (rule.exit_code && evidence.exit != ExitStatus{ExitStatus::Kind::kExited, *rule.exit_code}) return false;
  if (rule.signal && !DiedOf(evidence.exit, *rule.signal)) return false;
  if (rule.scheduler_status && evidence.scheduler_status != rule.scheduler_status) return false;
  return !rule.oom || evidence.oom == *rule.oom;
}

std::vector<std::string> LinesOf(const Evidence& evidence) {
  std::vector<std::string> lines = Split(evidence.stderr_tail, '\n');
  if (!evidence.report) return lines;
  for (auto& line : Split(evidence.report->message, '\n')) lines.push_back(std::move(line));
  return lines;
}

// Of the latest line that `rule` holds for, counted from 1; 0: there is none.
size_t PlaceOf(const FailureRule& rule, const Evidence& evidence, const std::vector<std::string>& lines) {
  if (!FactsHold(rule, evidence)) return 0;
  const auto pattern = LinePattern::Parse(rule.pattern);
  if (!pattern.ok()) return 0;  // of a spec by another version; the parser refuses it
  const auto last =
      std::find_if(lines.rbegin(), lines.rend(), [&](const auto& line) { return pattern->Matches(line); });
  return static_cast<size_t>(lines.rend() - last);
}

const FailureRule* FirstThatHolds(std::span<const FailureRule> rules, const Evidence& evidence,
                                  const std::vector<std::string>& lines) {
  const FailureRule* latest = nullptr;
  size_t latest_place = 0;
  for (const auto& rule : rules) {
    if (!rule.pattern.empty()) {
      const size_t place = PlaceOf(rule, evidence, lines);
      if (place > latest_place) latest = &rule;
      latest_place = std::max(place, latest_place);
      continue;
    }
    if (latest) return latest;
    if (FactsHold(rule, evidence)) return &rule;
  }
  return latest;
}

// A message is one clause of a verdict.
std::string OneLine(std::string_view text) {
  constexpr size_t kLongest = 300;
  std::string line(Trim(text.substr(0, text.find('\n'))));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  if (line.size() > kLongest) line = line.substr(0, ValidUtf8Prefix(line.substr(0, kLongest))) + "...";
  return line;
}

std::string MessageOf(const Evidence& evidence, const FailureRule& rule) {
  std::string message;
  if (evidence.report) message = OneLine(evidence.report->message);
  // "It failed" is no news of something that failed.
  const bool says_nothing = &rule == &BuiltInRules().back();
  const bool overruled = evidence.report && evidence.report->cls;
  if (overruled && message.empty()) message = "its error file says so";
  const bool numbers = rule.oom == OomEvidence::kCgroup && !evidence.oom_detail.empty();
  if (!says_nothing && !overruled)
    message += StrCat(message.empty() ? "" : ": ", numbers ? evidence.oom_detail : rule.meaning);
  if (!evidence.report_trouble.empty()) message += StrCat(message.empty() ? "" : "; ", evidence.report_trouble);
  return message;
}

}  // namespace

std::string_view ToString(OomEvidence evidence) {
  switch (evidence) {
    case OomEvidence::kUnknown:
      return "unknown";
    case OomEvidence::kNone:
      return "none";
    case OomEvidence::kMachine:
      return "machine";
    case OomEvidence::kCgroup:
      return "cgroup";
  }
  CHECK(false);
}

const FailureRule& RuleFor(const Evidence& evidence, std::span<const FailureRule> extra) {
  const auto lines = LinesOf(evidence);
  if (const auto* rule = FirstThatHolds(extra, evidence, lines)) return *rule;
  Evidence built_in = evidence;
  // Whoever was killed could not say why: its last lines, of whatever age, are about something else.
  if (DiedOf(evidence.exit, SIGKILL)) built_in.stderr_tail.clear();
  const auto* rule = FirstThatHolds(BuiltInRules(), built_in, LinesOf(built_in));
  CHECK(rule);  // the last one holds always
  return *rule;
}

Outcome Classify(const Evidence& evidence, std::span<const FailureRule> extra) {
  if (evidence.exit && evidence.exit->Succeeded()) return {.cls = OutcomeClass::kSuccess, .exit = evidence.exit};
  const FailureRule& rule = RuleFor(evidence, extra);
  Outcome outcome{.cls = rule.cls,
                  .exit = evidence.exit,
                  .message = MessageOf(evidence, rule),
                  .stderr_tail = evidence.stderr_tail,
                  .advice = rule.advice};
  if (!evidence.report) return outcome;
  // A report with a class is the whole verdict: a rule's advice belonged to the rule's class.
  if (evidence.report->cls) outcome.advice = Advice::kNone;
  outcome.cls = evidence.report->cls.value_or(outcome.cls);
  if (evidence.report->advice != Advice::kNone) outcome.advice = evidence.report->advice;
  return outcome;
}

}  // namespace tony
