// Every row of the transition table, and that nothing else changes the state.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "tests/unit/executor/task_run_driver.h"

namespace tony::executor {
namespace {

using Script = std::function<void(TaskRunDriver&)>;

// From the beginning into a state.
const std::map<State, Script>& Ways() {
  static const std::map<State, Script> ways = {
      {State::kWaiting, [](TaskRunDriver& task) { task.Register(); }},
      {State::kStarting,
       [](TaskRunDriver& task) {
         task.Register();
         task.Start();
       }},
      {State::kRunning, [](TaskRunDriver& task) { task.RunTask(); }},
      {State::kSweeping,
       [](TaskRunDriver& task) {
         task.RunTask();
         task.ExitAll(ExitCode(0));
       }},
      {State::kStopping,
       [](TaskRunDriver& task) {
         task.Register();
         task.Start();
         task.Stop(Duration{1000});
       }},
      {State::kKilling,
       [](TaskRunDriver& task) {
         task.Register();
         task.Start();
         task.Stop(Duration{1000});
         task.Pass(Duration{1000});
       }},
      {State::kEnded,
       [](TaskRunDriver& task) {
         task.RunTask();
         task.ExitAll(ExitCode(0));
         task.Give(TreeGone{});
       }},
      {State::kLeft,
       [](TaskRunDriver& task) {
         task.Register();
         task.Release();
       }},
  };
  return ways;
}

// The plainest cause of each trigger.
const std::map<Trigger, Script>& Causes() {
  static const std::map<Trigger, Script> causes = {
      {Trigger::kStart, [](TaskRunDriver& task) { task.Start(20); }},
      {Trigger::kStarted, [](TaskRunDriver& task) { task.Give(ProcessStarted{4242}); }},
      {Trigger::kNotStarted, [](TaskRunDriver& task) { task.Give(ProcessNotStarted{}); }},
      {Trigger::kExited, [](TaskRunDriver& task) { task.Exit(ExitCode(1)); }},
      {Trigger::kFailed,
       [](TaskRunDriver& task) {
         if (task.run.state() == State::kStarting) task.Give(ProcessStarted{4242, 0});
         if (task.run.state() == State::kStarting) task.Give(ProcessNotStarted{{}, 1});
         if (task.run.state() == State::kRunning) task.ExitOf(1, ExitCode(1));
       }},
      {Trigger::kStop, [](TaskRunDriver& task) { task.Stop(Duration{1000}, 20); }},
      {Trigger::kGraceOver, [](TaskRunDriver& task) { task.Pass(Duration{1500}); }},
      {Trigger::kTreeGone,
       [](TaskRunDriver& task) {
         if (task.run.state() == State::kStopping || task.run.state() == State::kKilling) {
           task.Give(ProcessStarted{4242});
           task.Exit(KilledBy(SIGTERM));
         }
         task.Give(TreeGone{});
       }},
      {Trigger::kGiveUp,
       [](TaskRunDriver& task) {
         if (task.run.state() != State::kStopping) task.Pass(Duration{30'000});
         task.Give(TreeLives{"1 process, process 4711 for one"});
       }},
      {Trigger::kNext, [](TaskRunDriver& task) { task.Next(3, 20); }},
      {Trigger::kLeave, [](TaskRunDriver& task) { task.Release(20); }},
  };
  return causes;
}

TaskRunDriver DriverFor(Trigger trigger) { return TaskRunDriver({}, 0, trigger == Trigger::kFailed ? 2 : 1); }

TEST(TaskRunTableTest, EveryRowHappens) {
  ASSERT_FALSE(Transitions().empty());
  for (const auto& row : Transitions()) {
    SCOPED_TRACE(std::string(ToString(row.from)) + " " + std::string(ToString(row.trigger)));
    TaskRunDriver task = DriverFor(row.trigger);
    Ways().at(row.from)(task);
    ASSERT_EQ(task.run.state(), row.from);
    Causes().at(row.trigger)(task);
    EXPECT_EQ(task.run.state(), row.to);
  }
}

TEST(TaskRunTableTest, WhatHasNoRowChangesNoState) {
  for (const auto& [state, way] : Ways()) {
    for (const auto& [trigger, cause] : Causes()) {
      const auto rows = Transitions();
      const bool has_row = std::any_of(rows.begin(), rows.end(), [from = state, by = trigger](const Transition& row) {
        return row.from == from && row.trigger == by;
      });
      // Being released is also a reason to stop, so it moves every state that a stop moves.
      if (has_row || trigger == Trigger::kLeave) continue;
      SCOPED_TRACE(std::string(ToString(state)) + " " + std::string(ToString(trigger)));
      TaskRunDriver task = DriverFor(trigger);
      way(task);
      cause(task);
      EXPECT_EQ(task.run.state(), state);
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
  for (const auto& [state, way] : Ways()) EXPECT_FALSE(ToString(state).empty());
  for (const auto& [trigger, cause] : Causes()) EXPECT_FALSE(ToString(trigger).empty());
}

}  // namespace
}  // namespace tony::executor
