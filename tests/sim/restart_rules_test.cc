#include <gtest/gtest.h>

#include "tests/sim/job_rules.h"
#include "tests/sim/timeline.h"
#include "tests/support/job_words.h"
#include "tests/support/table_test.h"

namespace tony::sim {
namespace {

// Given: a job | how worker:0 fails 10 s after the start; "alone": its gang has not formed | earlier restarts, e.g.
// "task worker:0 1ms": 1 ms after the start; "free": not charged. Expected: "none" or the restart's scope, "free",
// "after 2000" ms.
void CheckRestart(const RowCase& row) {
  const std::vector<std::string> parts = PartsOf(row.given);
  Words fails(parts[1]);
  FailureSeen failure{.task = {"worker", 0}, .cls = FromName<OutcomeClass>(fails.Next()).value(), .together = true};
  failure.same_address = true;
  if (fails.Skip("permanent")) failure.advice = Advice::kPermanent;
  if (fails.Skip("alone")) failure.together = false;
  std::vector<RestartSeen> past;
  for (size_t i = 2; i < parts.size(); ++i) {
    Words its(parts[i]);
    RestartSeen seen{Timeline::kStart, FromName<RestartScope>(its.Next()).value(), *ParseTaskId(its.Next()), true};
    if (its.Skip("free")) seen.charged = false;
    if (its.any()) seen.time += TimeOf(its.Next());
    past.push_back(seen);
  }
  const auto due = RestartAfter(JobOf(parts[0]), failure, past, Timeline::kStart + Duration(10'000));
  std::string text(due ? ToString(due->scope) : "none");
  if (due && !due->charged) text += " free";
  if (due && due->delay.count() > 0) text += StrCat(" after ", due->delay.count());
  EXPECT_EQ(text, row.expected);
}

const TestRow kRules[] = {
    {"AFailureRestartsTheSmallestScopeThatHasBudgetLeft",
     {{"worker*2 standalone task=1 gang=1 | user_error", "task"},
      {"worker*2 standalone task=1 gang=1 | user_error | task worker:1", "task"},
      {"worker*2 standalone task=1 gang=1 | user_error | task worker:0", "gang"},
      {"worker*2 standalone task=1 gang=1 | user_error | task worker:0 | gang worker:1", "none"}}},
    {"RestartsOlderThanTheWindowDoNotUseUpTheBudget",
     {{"worker*2 standalone task=1/10s | user_error | task worker:0", "task"},
      {"worker*2 standalone task=1/10s | user_error | task worker:0 1ms", "none"}}},
    {"RestartsOfLostTasksUseTheBudgetForLostTasks",
     {{"worker*2 pytorch lost=1 | node_lost", "gang free"},
      {"worker*2 pytorch lost=1 | node_lost | gang worker:1 free", "none"}}},
    {"AFailedSidecarOfAFormedGangRestartsNoOtherTask",
     {{"worker*2:sidecar pytorch task=1 gang=9 | user_error | task worker:0", "none"},
      {"worker*2:sidecar pytorch task=1 gang=9 | user_error alone | task worker:0", "gang"}}},
    {"NoRestartFollowsAnOomOrAConfigurationErrorOrAPermanentFailure",
     {{"worker*2 standalone task=9 gang=9 | oom", "none"},
      {"worker*2 standalone task=9 gang=9 | user_config", "none"},
      {"worker*2 standalone task=9 gang=9 | user_error permanent", "none"}}},
    {"TheBackOffDoublesWithEachRestartUpToTheConfiguredLimit",
     {{"worker*2 standalone task=9 backoff=1s/3s | user_error", "task"},
      {"worker*2 standalone task=9 backoff=1s/3s | user_error | task worker:0", "task after 1000"},
      {"worker*2 standalone task=9 backoff=1s/3s | user_error | task worker:0 | task worker:0", "task after 2000"},
      {"worker*2 standalone task=9 backoff=1s/3s | user_error | task worker:0 | task worker:0 | task worker:0",
       "task after 3000"},
      {"worker*2 standalone task=9 backoff=1s/3s | user_error | task worker:0 | task worker:0 | task worker:0 | task "
       "worker:0",
       "task after 3000"}}},
};
TABLE_TEST(RestartRulesTest, kRules, CheckRestart);

}  // namespace
}  // namespace tony::sim
