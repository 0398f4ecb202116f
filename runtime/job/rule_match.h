// The rule that holds for what was seen.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/failure_rules.h"

namespace tony {

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
