// Failure rules as JSON: in a job spec, and in the answer of `tony explain-exit`.
#pragma once

#include <vector>

#include "runtime/job/failure_rules.h"
#include "runtime/job/json_fields.h"

namespace tony {

boost::json::object FailureRuleJson(const FailureRule& rule);  // conditions that are not set are left out
boost::json::array FailureRulesJson(const std::vector<FailureRule>& rules);

// The field "failure_rules". Jobs of 0.1 have none.
Result<std::vector<FailureRule>> ReadFailureRules(JsonFields& fields);

}  // namespace tony
