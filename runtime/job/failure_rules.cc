#include "runtime/job/failure_rules.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/failure_lines.h"
#include "runtime/job/line_pattern.h"

namespace tony {
namespace {

constexpr int kShellBase = 128;  // a shell says 128 + n of a command that signal n ended

bool DiedOf(const std::optional<ExitStatus>& exit, int signal) {
  if (!exit) return false;
  return exit->value == (exit->kind == ExitStatus::Kind::kSignaled ? signal : kShellBase + signal);
}

// Not by a signal that others send.
bool EndedByItself(const std::optional<ExitStatus>& exit) {
  constexpr std::array kFromOthers = {SIGHUP, SIGINT, SIGTERM, SIGKILL};
  return std::ranges::none_of(kFromOthers, [&](int signal) { return DiedOf(exit, signal); });
}

// All conditions but the pattern.
bool FactsHold(const FailureRule& rule, const Evidence& evidence) {
  if (rule.exit_code && evidence.exit != ExitStatus{ExitStatus::Kind::kExited, *rule.exit_code}) return false;
  if (rule.signal && !DiedOf(evidence.exit, *rule.signal)) return false;
  if (rule.scheduler_status && evidence.scheduler_status != rule.scheduler_status) return false;
  if (rule.full_disk && (evidence.full_disk.empty() || !EndedByItself(evidence.exit))) return false;
  return !rule.oom || evidence.oom == *rule.oom;
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

struct Found {
  const FailureRule* rule = nullptr;
  size_t place = 0;  // of the line that it holds for, counted from 1; 0: it needs none
};

Found FirstThatHolds(std::span<const FailureRule> rules, const Evidence& evidence,
                     const std::vector<std::string>& lines) {
  Found latest;
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

// Rules by exit code alone say little: what the program said last goes before them.
bool SaysLittle(const FailureRule& rule, const Evidence& evidence) {
  const bool by_code = evidence.exit && evidence.exit->kind == ExitStatus::Kind::kExited && !rule.signal && !rule.oom;
  return by_code && (rule.cls == OutcomeClass::kUserError || rule.cls == OutcomeClass::kUserConfig);
}

// Whoever was killed could not say why: its last lines, of whatever age, are about something else.
Evidence WithoutLastLines(Evidence evidence) {
  evidence.stdout_tail.clear();
  evidence.traceback.clear();
  evidence.stderr_tail.clear();
  return evidence;
}

struct Judgement {
  const FailureRule* rule = nullptr;
  std::string quote;  // the line that decided; may be empty
  bool needs_stdout = false;
};

Judgement Judge(const Evidence& evidence, std::span<const FailureRule> extra) {
  const FailureLines lines(evidence);
  if (const Found own = FirstThatHolds(extra, evidence, lines.all()); own.rule)
    return {own.rule, lines.Quoted(own.place), lines.NeedsStdout(own.place)};
  const bool killed = DiedOf(evidence.exit, SIGKILL);
  const FailureLines heard(killed ? WithoutLastLines(evidence) : evidence);
  const Found found = FirstThatHolds(BuiltInRules(), evidence, heard.all());
  CHECK(found.rule);  // the last one holds always
  const bool quotes_last = found.place == 0 && SaysLittle(*found.rule, evidence);
  return {found.rule, quotes_last ? heard.QuotedLast() : heard.Quoted(found.place),
          lines.NeedsStdout(killed ? 0 : found.place)};
}

// "It failed" is no news of something that failed, and an exception that is quoted explains itself.
bool NeedsNoMeaning(const FailureRule& rule, const std::string& said) {
  return &rule == &BuiltInRules().back() || (rule.name == "python-exception" && !said.empty());
}

std::string MessageOf(const Evidence& evidence, const Judgement& judged) {
  const FailureRule& rule = *judged.rule;
  const bool overruled = evidence.report && evidence.report->cls;
  const bool numbers = rule.oom == OomEvidence::kCgroup && !evidence.oom_detail.empty();
  std::string message = evidence.report ? OneClause(evidence.report->message) : "";
  if (message.empty() && overruled) message = "its error file says so";
  if (message.empty() && !numbers) message = judged.quote;
  if (!overruled && !NeedsNoMeaning(rule, message)) {
    message += StrCat(message.empty() ? "" : ": ", numbers ? evidence.oom_detail : rule.meaning);
    if (rule.full_disk) message += StrCat(" (", evidence.full_disk, ")");
  }
  if (!evidence.report_trouble.empty()) message += StrCat(message.empty() ? "" : "; ", evidence.report_trouble);
  return message;
}

std::string ShownStderr(const Evidence& evidence) {
  if (evidence.traceback.empty()) return evidence.stderr_tail;
  return StrCat(evidence.traceback, "[...]\n", evidence.stderr_tail);
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
  return *Judge(evidence, extra).rule;
}

Outcome Classify(const Evidence& evidence, std::span<const FailureRule> extra) {
  if (evidence.exit && evidence.exit->Succeeded()) return {.cls = OutcomeClass::kSuccess, .exit = evidence.exit};
  const Judgement judged = Judge(evidence, extra);
  Outcome outcome{.cls = judged.rule->cls,
                  .exit = evidence.exit,
                  .message = MessageOf(evidence, judged),
                  .stderr_tail = ShownStderr(evidence),
                  .stdout_tail = judged.needs_stdout ? evidence.stdout_tail : "",
                  .advice = judged.rule->advice,
                  .source = judged.rule->source};
  if (!evidence.report) return outcome;
  // A report with a class is the whole verdict: a rule's advice belonged to the rule's class.
  if (evidence.report->cls) {
    outcome.advice = Advice::kNone;
    outcome.source = Source::kItself;
  }
  outcome.cls = evidence.report->cls.value_or(outcome.cls);
  if (evidence.report->advice != Advice::kNone) outcome.advice = evidence.report->advice;
  return outcome;
}

}  // namespace tony
