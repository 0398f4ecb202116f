// Runs scripts for the AM's core. Each step is one row: {"events in their order", "decisions, orders and the state
// after the step"}. The last event of a step is the step's turn; it may be refused only if the row expects "refused".
// `Text` in backticks may hold commas and semicolons. Alternatives {a|b} in a row with the same position form one
// script. The job stands before the first events: "job worker*2 gang=1: " replaces the job of the table, "+gang=1: "
// adds to it.
#pragma once

#include <string_view>

#include "tests/support/job_builder.h"
#include "tests/support/job_words.h"
#include "tests/support/table_test.h"

namespace tony::am {

// Runs one row. The event "begun" at the beginning of a step stands for the events in `begun`.
void RunScript(const TestRow& row, std::string_view job, std::string_view begun);

inline auto Script(std::string_view job, std::string_view begun = "") {
  return [=](const TestRow& row) { RunScript(row, job, begun); };
}

// Returns the job in the state after these events.
JobDriver DriverAfter(std::string_view job, std::string_view events);

// Expects that the job after these events refuses each decision by itself, and that the error names the decision's
// number and kind.
void ExpectDamaged(std::string_view job, std::string_view events, const std::vector<DecisionBody>& decisions);

}  // namespace tony::am
