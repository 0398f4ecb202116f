#include "runtime/job/failure_rules.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/job/cause_choice.h"
#include "runtime/job/failure_lines.h"
#include "runtime/job/rule_match.h"

namespace tony {
namespace {

// A process says nothing of the SIGHUP, SIGTERM or SIGKILL that ends it. Python names SIGINT.
bool DiedWithoutAWord(const std::optional<ExitStatus>& exit) { return !EndedByItself(exit) && !DiedOf(exit, SIGINT); }

// The last lines of a process that was killed, of whatever age, are about something else.
Evidence WithoutLastLines(Evidence evidence) {
  for (std::string* lines :
       {&evidence.stdout_tail, &evidence.stdout_text, &evidence.stderr_tail, &evidence.stderr_text})
    lines->clear();
  return evidence;
}

struct Judgement {
  const FailureRule* rule = nullptr;
  // The line that decided; may be empty.
  std::string quote;
  bool needs_stdout = false;
  // The cause, if it stands before the last lines of stderr.
  std::string before;
};

Judgement Judge(const Evidence& evidence, std::span<const FailureRule> extra) {
  const bool killed = DiedWithoutAWord(evidence.exit);
  const Evidence heard = killed ? WithoutLastLines(evidence) : evidence;
  const FirstCause cause = FindFirstCause(heard);
  const FailureLines all(evidence, cause.rule ? cause.before : "");
  if (const RuleMatch own = FirstThatHolds(extra, evidence, all.all()); own.rule)
    return {own.rule, all.Quoted(own.place), all.NeedsStdout(own.place), cause.before};
  if (cause.rule) return {cause.rule, cause.Quoted(), cause.on_stdout, cause.before};
  const FailureLines lines(cause.rest, "");
  const RuleMatch found = FirstThatHolds(BuiltInRules(), heard, lines.all());
  CHECK(found.rule);  // the last one holds always
  const bool quotes_last = found.place == 0 && SaysLittle(*found.rule, evidence);
  return {found.rule, quotes_last ? lines.QuotedLast() : lines.Quoted(found.place),
          killed ? all.NeedsStdout(0) : lines.NeedsStdout(found.place), cause.before};
}

// "It failed" is no news of something that failed, and an exception that is quoted explains itself.
bool NeedsNoMeaning(const FailureRule& rule, const std::string& said) {
  return &rule == &BuiltInRules().back() || (IsGeneric(rule) && !said.empty());
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

std::string ShownStderr(const Evidence& evidence, const std::string& before) {
  return before.empty() ? evidence.stderr_tail : StrCat(before, "[...]\n", evidence.stderr_tail);
}

}  // namespace

// In the order of the enum.
constexpr std::array<std::string_view, 4> kOomEvidence = {"unknown", "none", "machine", "cgroup"};

std::string_view ToString(OomEvidence evidence) { return kOomEvidence[static_cast<size_t>(evidence)]; }

std::optional<OomEvidence> OomEvidenceFromString(std::string_view text) {
  const auto* const found = std::ranges::find(kOomEvidence, text);
  if (found == kOomEvidence.end()) return std::nullopt;
  return static_cast<OomEvidence>(found - kOomEvidence.begin());
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
                  .stderr_tail = ShownStderr(evidence, judged.before),
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
