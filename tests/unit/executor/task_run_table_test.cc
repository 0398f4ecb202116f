// Every row of the transition table, and that nothing else changes the state.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/executor/task_run_script.h"

namespace tony::executor {
namespace {

// From the beginning into a state, and the plainest cause of each trigger.
const std::map<State, std::string> kWays = {
    {State::kWaiting, "register"},
    {State::kStarting, "register, START"},
    {State::kRunning, "running"},
    {State::kSweeping, "running, exit-all 0"},
    {State::kStopping, "register, START, STOP 1s"},
    {State::kKilling, "register, START, STOP 1s, pass 1s"},
    {State::kEnded, "running, exit-all 0, gone"},
    {State::kLeft, "register, RELEASE"},
};

std::string CauseOf(Trigger trigger, State from) {
  const bool stops = from == State::kStopping || from == State::kKilling;
  switch (trigger) {
    case Trigger::kStart:
      return "START 20";
    case Trigger::kStarted:
      return "started";
    case Trigger::kNotStarted:
      return "unstarted";
    case Trigger::kExited:
      return "exit 1";
    case Trigger::kFailed:
      if (from == State::kStarting) return "started 4242 0, unstarted 1";
      return from == State::kRunning ? "exit-of 1 1" : "";
    case Trigger::kStop:
      return "STOP 1s 20";
    case Trigger::kGraceOver:
      return "pass 1500ms";
    case Trigger::kTreeGone:
      return stops ? "started, exit TERM, gone" : "gone";
    case Trigger::kGiveUp:
      return from == State::kStopping ? "lives" : "pass 30s, lives";
    case Trigger::kNext:
      return "NEXT 3 20";
    case Trigger::kLeave:
      return "RELEASE 20";
  }
  return "";
}
constexpr int kTriggers = static_cast<int>(Trigger::kLeave) + 1;

// The state behind such a script; the trigger fails with fewer processes.
State After(const std::string& script, Trigger trigger) {
  TaskRunDriver task({}, 0, trigger == Trigger::kFailed ? 2 : 1);
  for (const std::string& event : ScriptParts(script, ", ")) Happen(task, {Split(event, ' ')});
  return task.run.state();
}

TEST(TaskRunTableTest, EveryRowHappens) {
  ASSERT_FALSE(Transitions().empty());
  for (const auto& [from, trigger, to] : Transitions()) {
    SCOPED_TRACE(StrCat(ToString(from), " ", ToString(trigger)));
    ASSERT_EQ(After(kWays.at(from), trigger), from);
    EXPECT_EQ(After(StrCat(kWays.at(from), ", ", CauseOf(trigger, from)), trigger), to);
  }
}

TEST(TaskRunTableTest, WhatHasNoRowChangesNoState) {
  for (const auto& [state, way] : kWays) {
    for (int i = 0; i < kTriggers; ++i) {
      const auto trigger = static_cast<Trigger>(i);
      // Being released is also a reason to stop, so it moves every state that a stop moves.
      if (Next(state, trigger) || trigger == Trigger::kLeave) continue;
      SCOPED_TRACE(StrCat(ToString(state), " ", ToString(trigger)));
      EXPECT_EQ(After(StrCat(way, ", ", CauseOf(trigger, state)), trigger), state);
    }
  }
}

TEST(TaskRunTableTest, NoRowIsThereTwice) {
  const auto rows = Transitions();
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = i + 1; j < rows.size(); ++j) {
      EXPECT_FALSE(rows[i].from == rows[j].from && rows[i].trigger == rows[j].trigger) << i << " and " << j;
    }
  }
}

TEST(TaskRunTableTest, EveryStateAndTriggerHasAName) {
  for (const auto& [state, way] : kWays) EXPECT_FALSE(ToString(state).empty());
  for (int i = 0; i < kTriggers; ++i) EXPECT_FALSE(ToString(static_cast<Trigger>(i)).empty());
}

}  // namespace
}  // namespace tony::executor
