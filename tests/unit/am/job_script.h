// Scripts for the AM's core, one line a step: {"what happens, in this order", "what is decided and ordered; what is so
// then"}. The last event of a step is its turn, and is refused only where "refused" is expected. `Text` in backticks may
// hold commas and semicolons. Of each {a|b} in a row the alternatives with the same number make one script. Before the
// first events stands the job: "job worker*2 gang=1: "; "+gang=1: " adds to the job of the table.
#pragma once

#include <string_view>

#include "tests/support/job_builder.h"
#include "tests/support/job_words.h"
#include "tests/support/table_test.h"

namespace tony::am {

// The event "begun", at the beginning of a step, is these events.
void RunScript(const TestRow& row, std::string_view job, std::string_view begun);

inline auto Script(std::string_view job, std::string_view begun = "") {
  return [=](const TestRow& row) { RunScript(row, job, begun); };
}

// The job after these events.
JobDriver DriverAfter(std::string_view job, std::string_view events);

// The job after these events refuses each of the decisions, alone, by its number and name.
void ExpectDamaged(std::string_view job, std::string_view events, const std::vector<DecisionBody>& decisions);

}  // namespace tony::am
