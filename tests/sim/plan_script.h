// Scenarios as rows: {"a plan", "what comes of it"}. Each case runs alone; {a|b} makes a run of each alternative, and
// [50-2000/50] one of each number from 50 to 2000 in steps of 50.
//
// A plan has parts between ", ". The first is the job (tests/support/job_words.h). Then "at TIME FAULT"; "all" or tasks
// with what they do: "worker:0 runs 2s fails 3", "deaf" to SIGTERM or "obeys 2s", "saves 1s" (a checkpoint each second),
// "publishes 1s", "leaves-children", "children-stay", "beside" begins another process of the attempt,
// "alone" drops those; behind "first" all that is of one more earlier attempt. Their containers: "granted 10s",
// "launched 500ms", "launches-fail 3", "cannot-begin". Of the rest: "owner o1", "watch 3s", "look-takes 300ms", "latest",
// "others" (a checkpoint that is newer than all others), "patience 30s", "drift 500ms", "seed 1", "execution 10s",
// "orphan 100s".
#pragma once

#include <string>
#include <string_view>

#include "tests/sim/scenario.h"
#include "tests/support/table_test.h"

namespace tony::sim {

Plan PlanOf(std::string_view text);

// Behind each other, between "; ": "SUCCEEDED success says `text`", "everywhere" (wherever its AM crashes, too);
// "undisturbed": each task succeeds in its first attempt; "2 starts of worker:0", and of "containers", "begun" further
// attempts, "signals", "ams", "crashes", or of decisions by name; "restart 2 job free 3" of so many tasks; "last worker:1
// generation 2 attempt 3 resumes TEXT", or "first"; "start 1 driver:0" before all others; "worker:0#1 exit 7 of 2" of its
// processes; "over in 10s"; "tasks over in 10s".
void ExpectPlan(const Plan& plan, const std::string& expected);
void CheckPlan(const RowCase& row);

}  // namespace tony::sim
