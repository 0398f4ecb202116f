// Jobs whose roles wait for each other, or may not outlive others, and histories of them in which one thing is made
// wrong.
#include "tests/sim/altered_history.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

const TaskId kData{"data", 0};
const TaskId kParameterServer{"ps", 0};
const TaskId kFirst{"worker", 0};

// data runs for a second; then two workers train. Beside both there is a server that nobody waits for.
Plan Prepared() {
  Plan plan = QuietPlan(2);
  plan.spec.framework = FrameworkKind::kPytorch;
  plan.spec.roles.insert(plan.spec.roles.begin(), {.name = "data", .command = "prepare"});
  plan.spec.roles.insert(plan.spec.roles.begin() + 1,
                         {.name = "ps", .command = "serve", .completion = Completion::kUntracked});
  plan.spec.roles.back().depends_on = {{"data"}};
  plan.tasks[kData].process.run = Duration(1'000);
  plan.tasks[kParameterServer].process.run = Duration(100'000);
  return plan;
}

Plan WithGangRestart() {
  Plan plan = Prepared();
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most = 1;
  ProcessPlan failing = plan.tasks[kFirst].process;
  failing.exit_code = 1;
  plan.tasks[kFirst].earlier = {failing};
  return plan;
}

TEST(DependencyScenarioTest, RolesFollowEachOther) {
  const Plan plan = Prepared();
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Decided<ContainersRequested>(world.history()).size(), 2u);
}

TEST(DependencyScenarioTest, AnAmMayCrashAtEveryStep) {
  CrashAtEveryStep(Prepared(), FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(DependencyScenarioTest, WhatHasPreparedDoesNotStartAgain) {
  const Plan plan = WithGangRestart();
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  World world(plan);
  world.Run();
  const auto starts = All<ProcessStarted>(world.history());
  EXPECT_EQ(std::ranges::count_if(starts, [](const auto& start) { return start.attempt.task == kData; }), 1);
}

TEST(DependencyScenarioTest, ATaskThatIsLostBeforeItsRoleHasStartedIsWaitedFor) {
  Plan plan = Prepared();
  plan.tasks[kFirst].launches_failing = 1;
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(DependencyScenarioTest, OnAClusterWhoMissesContainersGivesItsOwnBack) {
  Plan plan = Prepared();
  plan.spec.scheduler = kYarnScheduler;
  plan.spec.yarn.gang_hold = Duration(2'000);
  plan.tasks[kFirst].grant = Duration(3'000);
  plan.tasks[kFirst].launches_failing = 1;  // so that it alone is asked for again
  World world(plan);
  world.Run();
  ASSERT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  const auto restarts = Decided<RestartDecided>(world.history());
  ASSERT_EQ(restarts.size(), 2u);
  EXPECT_EQ(restarts[0].tasks.size(), 1u);
  EXPECT_EQ(restarts[1].tasks.size(), 2u);
}

TEST(DependencyScenarioTest, WorkersWaitUntilTheirServerIsReady) {
  for (const DistributedMode mode : {DistributedMode::kGang, DistributedMode::kFcfs}) {
    Plan plan = Prepared();
    plan.spec.mode = mode;
    plan.spec.roles.back().depends_on.push_back({"ps", Dependency::Until::kReady});
    plan.tasks[kParameterServer].process.publish_after = Duration(3'000);
    CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  }
}

Plan Outliving(bool ignored) {
  Plan plan = Prepared();
  plan.spec.roles.back().depends_on.clear();
  plan.spec.roles.back().outlives = {{"A", {"data"}, Duration(4'000), ignored}};
  return plan;
}

TEST(DependencyScenarioTest, ARoleThatOutlivesAGroupIsIgnoredOrFailsTheJob) {
  CrashAtEveryStep(Outliving(true), FinalState::kSucceeded, OutcomeClass::kSuccess);
  CrashAtEveryStep(Outliving(false), FinalState::kFailed, OutcomeClass::kTimeout);
}

// ---- the checker

class DependentHistoryTest : public testing::Test {
 protected:
  void ExpectComplaint(const std::string& text) const { sim::ExpectComplaint(plan_, history_, text); }

  Plan plan_ = Prepared();
  History history_ = RightHistory(plan_);
};

TEST_F(DependentHistoryTest, ARightOneHasNoComplaint) {
  RewriteJournal(history_, [](std::vector<Decision>&) {});
  EXPECT_TRUE(HistoryChecker::Check(plan_.spec, history_).empty());
}

TEST_F(DependentHistoryTest, ARoleThatIsAskedForTooEarlyIsNoticed) {
  RewriteEach<ContainersRequested>(history_, [](ContainersRequested& d) {
    if (d.attempts.front().task == kData) d.attempts.push_back({kFirst, 1});
  });
  ExpectComplaint("containers were asked for whose turn it is not");
}

TEST_F(DependentHistoryTest, AHalfOfARoleIsNoticed) {
  RewriteEach<ContainersRequested>(history_, [](ContainersRequested& d) {
    std::erase_if(d.attempts, [](const AttemptId& id) { return id.task == TaskId{"worker", 1}; });
  });
  ExpectComplaint("containers were asked for whose turn it is not, or not for all others");
}

TEST_F(DependentHistoryTest, ARestartOfWhatHasPreparedIsNoticed) {
  plan_ = WithGangRestart();
  history_ = RightHistory(plan_);
  RewriteEach<RestartDecided>(history_, [](RestartDecided& d) { d.tasks.push_back(kData); });
  ExpectComplaint("restart 1 of the wrong tasks");
}

TEST_F(DependentHistoryTest, ARoleThatIsLeftAloneTooEarlyIsNoticed) {
  plan_ = Outliving(true);
  history_ = RightHistory(plan_);
  plan_.spec.roles.back().outlives.front().limit = Duration(60'000);
  ExpectComplaint("role worker is left alone too early");
}

}  // namespace
}  // namespace tony::sim
