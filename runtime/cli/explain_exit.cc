// `tony explain-exit`: what an exit means, and what would be done about it. Starts and asks nothing.
#include "runtime/base/json_text.h"
#include "runtime/base/strings.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/exit_meaning.h"
#include "runtime/cli/output.h"
#include "runtime/cli/terminal_notes.h"
#include "runtime/client/job_access.h"
#include "runtime/client/named_job.h"

namespace tony {
namespace {

constexpr std::string_view kPrecedence =
    "The first rule that holds decides; of those for lines of stderr, the one for the latest line. Before all rules\n"
    "goes the class in the file that $TONY_ERROR_FILE names, before the built-in ones go the job's own\n"
    "(tony.failure.exit.CODE, tony.failure.signal.NAME, tony.failure.pattern.ANY). Exit code 0 is success.\n";

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

Result<int> RunExplainExit(const CommandLine& line) {
  const bool as_json = line.Has("json");
  if (line.words().empty()) {
    TRY_ASSIGN(std::vector<FailureRule> own, RulesOfJob(line));
    return ExplainAll(as_json, std::move(own));
  }
  TRY_ASSIGN(const AskedExit asked, ParseAskedExit(line.words().front()));
  TRY_ASSIGN(const std::vector<FailureRule> own, RulesOfJob(line));
  const auto rules = RulesAbout(asked, own);
  if (as_json) {
    PrintLine(ExplanationJson(JsonString(line.words().front()), rules));
    return 0;
  }
  Print(StrCat(DescribeAsked(asked), rules.empty() ? ": " : "\n", ExplainText(rules)));
  if (StderrMayDecide(rules)) {
    Print("\nA line of the task's stderr may decide otherwise; \"tony explain-exit\" lists all rules.\n");
  }
  return 0;
}

}  // namespace tony
