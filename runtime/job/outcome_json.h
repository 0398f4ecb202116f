// Outcomes and verdicts as JSON: in the status document, in journals and in files of kept outcomes.
#pragma once

#include <string>
#include <string_view>

#include "runtime/job/json_fields.h"
#include "runtime/job/outcome.h"

namespace tony {

constexpr int64_t kMaxCount = 1'000'000'000;  // of anything counted in a document; fits an int

boost::json::object OutcomeJson(const Outcome& outcome);
boost::json::object VerdictJson(const Verdict& verdict);
Result<Outcome> ReadOutcome(JsonFields fields);
Result<Verdict> ReadVerdict(JsonFields fields);
TaskId ReadTask(JsonFields& fields);  // the field "task"

std::string ToJson(const Outcome& outcome);
Result<Outcome> OutcomeFromJson(std::string_view text);

}  // namespace tony
