// What an exit means, for `tony explain-exit`: pure functions over the rules of runtime/job/failure_rules.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/failure_rules.h"

namespace tony {

struct AskedExit {
  std::optional<int> exit_code;         // 0 to 255; "137"
  std::optional<int> signal;            // "SIGKILL", "kill"
  std::optional<int> scheduler_status;  // below 0; "-100"
};
Result<AskedExit> ParseAskedExit(std::string_view word);  // kUsage

// The rules that may decide of it, in order of precedence, as far as more than this must be known to choose. Rules
// that look at stderr alone are not among them. Empty: success.
std::vector<FailureRule> RulesAbout(const AskedExit& asked, std::span<const FailureRule> extra);

// Whether built-in rules for lines of stderr go before the last of `rules`.
bool StderrMayDecide(const std::vector<FailureRule>& rules);

std::string DescribeAsked(const AskedExit& asked);               // "exit code 137 (a shell's word for SIGKILL)"
std::string ConditionText(const FailureRule& rule);              // "exit code 193", "a line of stderr"
std::string ExplainText(const std::vector<FailureRule>& rules);  // a paragraph for each
std::string RuleTable(const std::vector<FailureRule>& rules);    // a line for each
std::string ExplainJson(const std::vector<FailureRule>& rules);  // an array
std::string OutcomeClassesJson();                                // an array of all there are, each with what it means

}  // namespace tony
