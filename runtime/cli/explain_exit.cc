// `tony explain-exit`: explains an exit and how TonY reacts to it. The command starts no process and sends no RPC.
#include "runtime/cli/explain_exit.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/job_access.h"
#include "runtime/job/job_fields.h"
#include "runtime/job/json_fields.h"

namespace tony {

namespace json = boost::json;

namespace {

constexpr int kShellBase = 128;
constexpr int kLowestStatus = -1000;  // YARN's lowest container exit status

struct ChargeWords {
  std::string_view word, text;
};
ChargeWords WordsOf(Charge charge) {
  switch (charge) {
    case Charge::kNever:
      return {"never", "no: a retry would not help"};
    case Charge::kCharged:
      return {"charged", "if the program has restarts left (tony.restart.<scope>.budget; by default it has none)"};
    case Charge::kFree:
      return {"free", "yes, and the restart is not charged to the program (limit: tony.restart.lost.budget)"};
  }
  CHECK(false);
}

ChargeWords ChargeOf(const FailureRule& rule) {
  ChargeWords words = WordsOf(tony::ChargeOf(Outcome{.cls = rule.cls, .advice = rule.advice}));
  if (rule.source == Source::kSignal)
    words.text = "yes, the first time; if a signal ends the same task again, the restart is charged to the program";
  return words;
}

std::string_view OomText(OomEvidence evidence) {
  switch (evidence) {
    case OomEvidence::kUnknown:
      return "the activity of the kernel's out-of-memory killer is unknown";
    case OomEvidence::kNone:
      return "the kernel's out-of-memory killer killed no process";
    case OomEvidence::kMachine:
      return "the kernel's out-of-memory killer killed a process on the machine";
    case OomEvidence::kCgroup:
      return "the kernel's out-of-memory killer killed a process in the task's cgroup";
  }
  CHECK(false);
}

bool Concerns(const FailureRule& rule, const ExitQuery& asked) {
  if (asked.exit_code && rule.exit_code == asked.exit_code) return true;
  if (asked.exit_code && rule.signal && *rule.signal + kShellBase == *asked.exit_code) return true;
  if (asked.exit_code && rule.scheduler_status == asked.exit_code) return true;
  if (asked.signal && rule.signal == asked.signal) return true;
  return asked.scheduler_status && rule.scheduler_status == asked.scheduler_status;
}

// Returns whether the exit alone, which the rule matches, is enough to apply the rule. Other rules need further facts.
bool Decides(const FailureRule& rule, const ExitQuery& asked) {
  return !rule.oom && !rule.full_disk && rule.pattern.empty() && (!rule.scheduler_status || asked.scheduler_status);
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string Line(const std::string& name, std::string_view text) {
  return text.empty() ? "" : StrCat("  ", Padded(name, 9), text, "\n");
}

constexpr std::string_view kPrecedence =
    "TonY uses the first rule that matches. If several rules match lines of stderr, the rule that matches the latest\n"
    "line is used. The class in the file that $TONY_ERROR_FILE names overrides all rules. The job's own rules\n"
    "(tony.failure.exit.CODE, tony.failure.signal.NAME, tony.failure.pattern.ANY) are tried before the built-in ones.\n"
    "Exit code 0 is success.\n";

Result<std::vector<FailureRule>> RulesOfJob(const CommandLine& line) {
  if (!line.Has("job")) return std::vector<FailureRule>();
  TRY_ASSIGN(const JobRecords records, FindNamedJob(line.Value("job"), TerminalNotes()));
  TRY_ASSIGN(JobSpec spec, records.ReadSpec());
  return std::move(spec.failure_rules);
}

std::string ExplanationJson(const std::string& asked, const std::vector<FailureRule>& rules) {
  return StrCat(R"({"schema":1,"asked":)", asked, R"(,"rules":)", ExplainJson(rules), "}");
}

int ExplainAll(bool as_json, std::vector<FailureRule> rules) {
  rules.insert(rules.end(), BuiltInRules().begin(), BuiltInRules().end());
  if (as_json) {
    PrintLine(WithFields(ExplanationJson("null", rules), {{"classes", OutcomeClassesJson()}}));
  } else {
    Print(StrCat(RuleTable(rules), "\n", kPrecedence));
  }
  return 0;
}

}  // namespace

Result<ExitQuery> ParseAskedExit(std::string_view word) {
  const auto number = ParseInt(word);
  if (number && *number >= 0 && *number <= 255) return ExitQuery{.exit_code = static_cast<int>(*number)};
  if (number && *number < 0 && *number >= kLowestStatus)
    return ExitQuery{.scheduler_status = static_cast<int>(*number)};
  std::string name(word);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const auto signal = number ? std::nullopt : SignalFromString(name);
  if (signal) return ExitQuery{.signal = *signal};
  return Error{ErrorCode::kUsage, StrCat("explain-exit: \"", word,
                                         "\": expected an exit code from 0 to 255, a signal such as SIGKILL, or a "
                                         "scheduler's status such as -100")};
}

std::vector<FailureRule> RulesAbout(const ExitQuery& asked, std::span<const FailureRule> extra) {
  std::vector<FailureRule> about;
  if (asked.exit_code == 0) return about;
  for (const auto rules : {extra, BuiltInRules()}) {
    for (const FailureRule& rule : rules) {
      if (!Concerns(rule, asked)) continue;
      about.push_back(rule);
      if (Decides(rule, asked)) return about;
    }
  }
  about.push_back(BuiltInRules().back());
  return about;
}

bool StderrMayDecide(const std::vector<FailureRule>& rules) {
  if (rules.empty()) return false;
  const auto all = BuiltInRules();
  const auto last = std::ranges::find(all, rules.back());
  return last != all.end() && std::any_of(all.begin(), last, [](const auto& rule) { return !rule.pattern.empty(); });
}

std::string DescribeAsked(const ExitQuery& asked) {
  if (asked.scheduler_status) return StrCat("scheduler status ", *asked.scheduler_status);
  if (asked.signal) return ToString(ExitStatus{ExitStatus::Kind::kSignaled, *asked.signal});
  const std::string signal = SignalName(*asked.exit_code - kShellBase);
  return StrCat("exit code ", *asked.exit_code, signal.empty() ? "" : StrCat(" (as shells report ", signal, ")"));
}

std::string ConditionText(const FailureRule& rule) {
  std::vector<std::string> conditions;
  if (rule.exit_code) conditions.push_back(StrCat("exit code ", *rule.exit_code));
  if (rule.signal) conditions.push_back(StrCat(SignalName(*rule.signal), " or exit code ", *rule.signal + kShellBase));
  if (rule.scheduler_status) conditions.push_back(StrCat("scheduler status ", *rule.scheduler_status));
  if (rule.oom) conditions.emplace_back(OomText(*rule.oom));
  if (rule.full_disk) conditions.emplace_back("no room on the job's disk");
  if (!rule.pattern.empty()) conditions.emplace_back("a line of stderr");
  return conditions.empty() ? "anything else" : Join(conditions, ", ");
}

std::string ExplainText(const std::vector<FailureRule>& rules) {
  if (rules.empty()) return "success\n";
  std::string text;
  for (const FailureRule& rule : rules) {
    text += StrCat("\n", rule.meaning, "\n", Line("when", ConditionText(rule)));
    text += Line("lines", rule.pattern) + Line("class", ToString(rule.cls));
    if (rule.advice != Advice::kNone) text += Line("advice", ToString(rule.advice));
    text += Line("restart", ChargeOf(rule).text) + Line("remedy", rule.remedy) + Line("rule", rule.name);
  }
  return text;
}

std::string RuleTable(const std::vector<FailureRule>& rules) {
  const auto row = [](const std::string& rule, const std::string& when, std::string_view cls, std::string_view restart,
                      const std::string& meaning) {
    return StrCat(Padded(rule, 27), Padded(when, 29), Padded(std::string(cls), 13), Padded(std::string(restart), 9),
                  meaning, "\n");
  };
  std::string text = row("RULE", "WHEN", "CLASS", "RESTART", "MEANING");
  for (const FailureRule& rule : rules) {
    std::string when = ConditionText(rule);
    if (rule.oom && rule.signal) when = StrCat(SignalName(*rule.signal), ", OOM killer: ", ToString(*rule.oom));
    if (rule.exit_code && !rule.pattern.empty()) when = StrCat("stderr, exit code ", *rule.exit_code);
    if (rule.signal && !rule.pattern.empty()) when = StrCat("stderr, ", SignalName(*rule.signal));
    if (rule.oom && !rule.pattern.empty()) when = StrCat("stderr, OOM killer: ", ToString(*rule.oom));
    text += row(rule.name, when, ToString(rule.cls), ChargeOf(rule).word, rule.meaning);
  }
  return text;
}

std::string ExplainJson(const std::vector<FailureRule>& rules) {
  std::vector<RawJson> out;
  for (const FailureRule& rule : rules) {
    out.push_back({WriteJsonObject([&](JsonWriter& io) {
      Fields(io, rule);
      io.Field("retryable", IsRetryable(rule.cls, rule.advice));
      io.Field("restart", ChargeOf(rule).word);
    })});
  }
  return WriteJson(out);
}

std::string OutcomeClassesJson() {
  std::vector<RawJson> out;
  for (const OutcomeClass cls : AllOutcomeClasses()) {
    out.push_back({WriteJsonObject([&](JsonWriter& io) {
      io.Field("class", cls);
      io.Field("retryable", IsRetryable(cls));
      io.Field("restart", WordsOf(tony::ChargeOf(Outcome{.cls = cls})).word);
      io.Field("meaning", MeaningOf(cls));
    })});
  }
  return WriteJson(out);
}

Result<int> RunExplainExit(const CommandLine& line) {
  const bool as_json = line.Has("json");
  if (line.words().empty()) {
    TRY_ASSIGN(std::vector<FailureRule> own, RulesOfJob(line));
    return ExplainAll(as_json, std::move(own));
  }
  TRY_ASSIGN(const ExitQuery asked, ParseAskedExit(line.words().front()));
  TRY_ASSIGN(const std::vector<FailureRule> own, RulesOfJob(line));
  const auto rules = RulesAbout(asked, own);
  if (as_json) {
    PrintLine(ExplanationJson(JsonString(line.words().front()), rules));
    return 0;
  }
  Print(StrCat(DescribeAsked(asked), rules.empty() ? ": " : "\n", ExplainText(rules)));
  if (StderrMayDecide(rules)) {
    Print("\nA rule for a line of the task's stderr may apply instead; \"tony explain-exit\" lists all rules.\n");
  }
  return 0;
}

}  // namespace tony
