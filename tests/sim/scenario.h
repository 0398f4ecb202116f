// Scenarios as rows: {"a plan", "its expected result"}. Each row is a test of its own. {a|b} makes a run of each
// alternative, and [50-2000/50] makes one of each number from 50 to 2000 in steps of 50.
//
// The parts of a plan are separated by ", ". The first part is the job (tests/support/job_words.h). A fault is "at TIME
// FAULT". "all" or names of tasks are followed by what these tasks do: "worker:0 runs 2s fails 3", "deaf" to SIGTERM or
// "obeys 2s", "saves 1s" (a checkpoint each second), "publishes 1s", "leaves-children", "children-stay". "beside"
// begins another process of the attempt, and "alone" drops these other processes; the words behind "first" describe one
// more earlier attempt. Words for containers: "granted 10s", "launched 500ms", "launches-fail 3", "cannot-begin". Words
// for the run: "owner o1", "watch 3s", "look-takes 300ms", "latest", "others" (a checkpoint of another job that is
// newer than all others), "patience 30s", "shared-store 50ms" (the longest read of the lease record), "drift 500ms",
// "seed 1", "execution 10s", "orphan 100s".
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/records/decisions.h"
#include "tests/sim/history.h"
#include "tests/sim/plan.h"
#include "tests/sim/world.h"
#include "tests/support/table_test.h"

namespace tony::sim {

inline const TaskId kWorker0{"worker", 0};
inline const TaskId kWorker1{"worker", 1};

template <class T>
std::vector<T> All(const History& history) {
  std::vector<T> all;
  for (const Seen& seen : history.events()) {
    if (const auto* event = std::get_if<T>(&seen.event)) all.push_back(*event);
  }
  return all;
}

template <class T>
int Count(const History& history) {
  return static_cast<int>(All<T>(history).size());
}

// Succeeds if the history is right; otherwise the message has the trace.
testing::AssertionResult IsRight(const Plan& plan, const World& world);
void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls);
// Runs `plan` once for every step of its AM, with a crash after that step.
void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls);

// Returns the decisions of the journal as it is at the end.
std::vector<Decision> DecisionsOf(const History& history);

template <class T>
std::vector<T> Decided(const History& history) {
  std::vector<T> all;
  for (const Decision& decision : DecisionsOf(history)) {
    if (const auto* body = std::get_if<T>(&decision.body)) all.push_back(*body);
  }
  return all;
}

Plan PlanOf(std::string_view text);

// Checks the parts of `expected`, separated by "; ": "SUCCEEDED success says `text`"; "everywhere" repeats the run with
// a crash at each step of the AM; "undisturbed": each task succeeds in its first attempt; "2 starts of worker:0". A
// number also counts "containers", "begun" further attempts, "signals", "ams", "crashes", or decisions by name.
// "restart 2 job free 3": restart 2 is of scope job, not charged, and of 3 tasks; "last worker:1 generation 2 attempt 3
// resumes TEXT", or "first"; "start 1 driver:0": it starts before all others; "worker:0#1 exit 7 of 2": the
// exit of one of its 2 processes; "over in 10s"; "tasks over in 10s".
void ExpectPlan(const Plan& plan, const std::string& expected);
void CheckPlan(const RowCase& row);
// Returns a checker for rows that have only the differences: `job` goes before the row's text up to the first ", ", and
// `rest` before the text behind it.
std::function<void(const RowCase&)> PlansLike(std::string job, std::string rest);

// ---- for tests of the checker: a right history in which one thing is made wrong
History RightHistory(const Plan& plan);

template <class T>
std::vector<Seen>::iterator First(History& history) {
  const auto is_it = [](const Seen& seen) { return std::holds_alternative<T>(seen.event); };
  const auto found = std::ranges::find_if(history.events(), is_it);
  CHECK(found != history.events().end());
  return found;
}

template <class T>
T& FirstOf(History& history) {
  return std::get<T>(First<T>(history)->event);
}

void InsertBefore(History& history, std::vector<Seen>::iterator place, Event event);

// Changes the decisions of each write. Afterwards the journal file has the changed decisions.
void RewriteJournal(History& history, const std::function<void(std::vector<Decision>&)>& change);

template <class T>
bool Is(const Decision& decision) {
  return std::holds_alternative<T>(decision.body);
}

// Changes every decision of this kind.
template <class T>
void RewriteEach(History& history, const std::function<void(T&)>& change) {
  RewriteJournal(history, [&](std::vector<Decision>& decisions) {
    for (Decision& decision : decisions) {
      if (auto* body = std::get_if<T>(&decision.body)) change(*body);
    }
  });
}

void ExpectComplaint(const Plan& plan, const History& history, const std::string& text);

}  // namespace tony::sim
