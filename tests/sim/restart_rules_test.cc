#include "tests/sim/restart_rules.h"

#include <gtest/gtest.h>

#include "tests/sim/timeline.h"

namespace tony::sim {
namespace {

const TaskId kTheWorker{"worker", 0};
const TaskId kOther{"worker", 1};

JobSpec SpecOf(FrameworkKind framework, int restarts_of_task, int restarts_of_gang) {
  JobSpec spec{.framework = framework, .roles = {{.name = "worker", .instances = 2, .command = "train"}}};
  spec.restart.levels[static_cast<size_t>(RestartScope::kTask)].most = restarts_of_task;
  spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = restarts_of_gang;
  return spec;
}

FailureSeen FailureOf(OutcomeClass cls) {
  return {.task = kTheWorker, .cls = cls, .together = true, .same_address = true};
}

RestartSeen Charged(RestartScope scope, const TaskId& cause, Duration at = Duration(0)) {
  return {Timeline::kStart + at, scope, cause, true};
}

const Instant kNow = Timeline::kStart + Duration(10'000);

TEST(RestartRulesTest, AFailureIsPaidByTheSmallestLevelThatHasSomethingLeft) {
  const JobSpec spec = SpecOf(FrameworkKind::kStandalone, 1, 1);
  const FailureSeen failure = FailureOf(OutcomeClass::kUserError);
  EXPECT_EQ(RestartAfter(spec, failure, {}, kNow)->scope, RestartScope::kTask);
  EXPECT_EQ(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kOther)}, kNow)->scope, RestartScope::kTask);
  EXPECT_EQ(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kTheWorker)}, kNow)->scope, RestartScope::kGang);
  EXPECT_FALSE(RestartAfter(spec, failure,
                            {Charged(RestartScope::kTask, kTheWorker), Charged(RestartScope::kGang, kOther)}, kNow));
}

TEST(RestartRulesTest, WhatIsOlderThanTheWindowIsForgotten) {
  JobSpec spec = SpecOf(FrameworkKind::kStandalone, 1, 0);
  spec.restart.levels[0].window = Duration(10'000);
  const FailureSeen failure = FailureOf(OutcomeClass::kUserError);
  EXPECT_TRUE(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kTheWorker)}, kNow));
  EXPECT_FALSE(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kTheWorker, Duration(1))}, kNow));
}

TEST(RestartRulesTest, LossesArePaidByTheirOwnBudgetFirst) {
  JobSpec spec = SpecOf(FrameworkKind::kPytorch, 0, 0);
  spec.restart.lost.most = 1;
  const auto due = RestartAfter(spec, FailureOf(OutcomeClass::kNodeLost), {}, kNow);
  ASSERT_TRUE(due);
  EXPECT_FALSE(due->charged);
  EXPECT_EQ(due->scope, RestartScope::kGang);
  const RestartSeen past{Timeline::kStart, RestartScope::kGang, kOther, false};
  EXPECT_FALSE(RestartAfter(spec, FailureOf(OutcomeClass::kNodeLost), {past}, kNow));
}

TEST(RestartRulesTest, TheEndOfASidecarDisturbsNobodyElse) {
  JobSpec spec = SpecOf(FrameworkKind::kPytorch, 1, 9);
  spec.roles[0].completion = Completion::kSidecar;
  FailureSeen failure = FailureOf(OutcomeClass::kUserError);
  EXPECT_FALSE(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kTheWorker)}, kNow));
  failure.together = false;
  EXPECT_EQ(RestartAfter(spec, failure, {Charged(RestartScope::kTask, kTheWorker)}, kNow)->scope, RestartScope::kGang);
}

TEST(RestartRulesTest, SomeEndsAreNotForSale) {
  const JobSpec spec = SpecOf(FrameworkKind::kStandalone, 9, 9);
  EXPECT_FALSE(RestartAfter(spec, FailureOf(OutcomeClass::kOom), {}, kNow));
  EXPECT_FALSE(RestartAfter(spec, FailureOf(OutcomeClass::kUserConfig), {}, kNow));
  FailureSeen permanent = FailureOf(OutcomeClass::kUserError);
  permanent.advice = Advice::kPermanent;
  EXPECT_FALSE(RestartAfter(spec, permanent, {}, kNow));
}

TEST(RestartRulesTest, EachRestartWaitsTwiceAsLongUpToALimit) {
  JobSpec spec = SpecOf(FrameworkKind::kStandalone, 9, 0);
  spec.restart.backoff = Duration(1'000);
  spec.restart.longest_backoff = Duration(3'000);
  std::vector<RestartSeen> past;
  for (const int64_t delay : {0, 1'000, 2'000, 3'000, 3'000}) {
    EXPECT_EQ(RestartAfter(spec, FailureOf(OutcomeClass::kUserError), past, kNow)->delay, Duration(delay));
    past.push_back(Charged(RestartScope::kTask, kTheWorker));
  }
}

}  // namespace
}  // namespace tony::sim
