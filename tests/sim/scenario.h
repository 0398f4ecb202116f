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

// The history is right; otherwise the trace says what happened.
testing::AssertionResult IsRight(const Plan& plan, const World& world);
void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls);
// Runs `plan` once for every step of its AM, with a crash there.
void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls);

// The decisions of the journal as it is at the end.
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

// Behind each other, between "; ": "SUCCEEDED success says `text`", "everywhere" (wherever its AM crashes, too);
// "undisturbed": each task succeeds in its first attempt; "2 starts of worker:0", and of "containers", "begun" further
// attempts, "signals", "ams", "crashes", or of decisions by name; "restart 2 job free 3" of so many tasks; "last worker:1
// generation 2 attempt 3 resumes TEXT", or "first"; "start 1 driver:0" before all others; "worker:0#1 exit 7 of 2" of its
// processes; "over in 10s"; "tasks over in 10s".
void ExpectPlan(const Plan& plan, const std::string& expected);
void CheckPlan(const RowCase& row);
// Checks plans to whose jobs the rows add what they have before the first ", ", and to whose `rest` what is behind it.
std::function<void(const RowCase&)> PlansLike(std::string job, std::string rest);

// For tests of the checker: a right history in which one thing is made wrong.
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

// Changes the decisions of each write; the file is as if they had been written so.
void RewriteJournal(History& history, const std::function<void(std::vector<Decision>&)>& change);

template <class T>
bool Is(const Decision& decision) {
  return std::holds_alternative<T>(decision.body);
}

// Changes every decision of that kind.
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
