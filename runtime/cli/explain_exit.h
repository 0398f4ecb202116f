// Functions that explain exits for `tony explain-exit`: pure functions over the rules of runtime/job/failure_rules.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/failure_rules.h"

namespace tony {

struct ExitQuery {
  std::optional<int> exit_code;         // 0 to 255, e.g. "137"
  std::optional<int> signal;            // the number, e.g. 9
  std::optional<int> scheduler_status;  // negative, e.g. "-100"
};
Result<ExitQuery> ParseAskedExit(std::string_view word);  // fails with kUsage

// Returns the rules that may apply to the exit, in order of precedence. The list ends with the first rule that applies
// without further facts. Rules that only match lines of stderr are left out. The list is empty if the exit is a
// success.
std::vector<FailureRule> RulesAbout(const ExitQuery& asked, std::span<const FailureRule> extra);

// Returns whether a built-in rule for lines of stderr has precedence over the last of `rules`.
bool StderrMayDecide(const std::vector<FailureRule>& rules);

std::string DescribeAsked(const ExitQuery& asked);               // e.g. "exit code 137"
std::string ConditionText(const FailureRule& rule);              // e.g. "exit code 193"
std::string ExplainText(const std::vector<FailureRule>& rules);  // a paragraph per rule
std::string RuleTable(const std::vector<FailureRule>& rules);    // a line per rule
std::string ExplainJson(const std::vector<FailureRule>& rules);  // a JSON array
std::string OutcomeClassesJson();                                // JSON array: all classes, with meanings

}  // namespace tony
