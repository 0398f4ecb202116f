#include "am/core/states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/am/all_states.h"

namespace tony::am {
namespace {

TEST(StatesTest, AnEndIsFinal) {
  for (const AttemptState state : kAttemptStates) {
    const bool leads_on = std::ranges::any_of(kAttemptSteps, [&](AttemptStep s) { return Next(state, s).has_value(); });
    EXPECT_EQ(leads_on, !IsFinal(state)) << ToString(state);
  }
  for (const JobState state : kJobStates) {
    const bool leads_on = std::ranges::any_of(kJobSteps, [&](JobStep s) { return Next(state, s).has_value(); });
    EXPECT_EQ(leads_on, !IsFinal(state)) << ToString(state);
  }
  for (const TaskStep step : kTaskSteps)
    EXPECT_EQ(Next(TaskState::kDone, step).has_value(), step == TaskStep::kRestart) << "only a restart undoes it";
}

TEST(StatesTest, NoRowIsThereTwice) {
  std::set<std::pair<AttemptState, AttemptStep>> attempt;
  std::set<std::pair<TaskState, TaskStep>> task;
  std::set<std::pair<JobState, JobStep>> job;
  for (const auto& row : AttemptTransitions()) EXPECT_TRUE(attempt.emplace(row.from, row.step).second);
  for (const auto& row : TaskTransitions()) EXPECT_TRUE(task.emplace(row.from, row.step).second);
  for (const auto& row : JobTransitions()) EXPECT_TRUE(job.emplace(row.from, row.step).second);
}

TEST(StatesTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const AttemptState state : kAttemptStates) names.insert(ToString(state));
  for (const JobState state : kJobStates) names.insert(ToString(state));
  for (const TaskState state : kTaskStates) names.insert(ToString(state));
  EXPECT_EQ(names.size(), kAttemptStates.size() + kJobStates.size() + kTaskStates.size());
}

}  // namespace
}  // namespace tony::am
