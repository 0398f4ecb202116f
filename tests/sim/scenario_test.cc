// Runs in which one thing goes wrong, at every point where it can.
#include "tests/sim/scenario.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

Plan ShortPlan(int workers) { return WorkersFor(workers, Duration(1'500)); }

TEST(ScenarioTest, AnAmThatCrashesAfterAnyStepLosesNothing) {
  for (const int workers : {1, 2, 3}) {
    CrashAtEveryStep(ShortPlan(workers), FinalState::kSucceeded, OutcomeClass::kSuccess);
  }
}

TEST(ScenarioTest, AFailureIsKeptAfterACrashAtAnyStep) {
  Plan plan = ShortPlan(3);
  plan.tasks[kWorker1].process.exit_code = 3;
  plan.tasks[kWorker1].process.run = Duration(1'000);
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kUserError);
}

TEST(ScenarioTest, AKillIsCarriedOutAfterACrashAtAnyStep) {
  Plan plan = ShortPlan(3);
  plan.tasks[kWorker1].process.obeys_term.reset();
  plan.faults = {{Duration(1'000), AskKill{Duration(2'000)}}};
  CrashAtEveryStep(plan, FinalState::kKilled, OutcomeClass::kKilled);
}

TEST(ScenarioTest, AKilledExecutorFailsTheJobAfterACrashAtAnyStep) {
  Plan plan = ShortPlan(2);
  plan.spec.restart.lost.most = 0;
  plan.faults = {{Duration(1'000), KillExecutor{kWorker0}}};
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kInfra);
}

TEST(ScenarioTest, AnAmThatCrashesAgainSoonAfterLosesNothing) {
  Plan plan = ShortPlan(2);
  World reference(plan);
  reference.Run();
  const int64_t steps = reference.crashes().steps();
  for (int64_t first = 1; first <= steps; ++first) {
    for (int64_t second = first + 1; second <= first + 10; ++second) {
      plan.am.crash_at_steps = {first, second};
      World world(plan);
      world.Run();
      ASSERT_TRUE(IsRight(plan, world)) << "crashes at steps " << first << " and " << second;
      ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    }
  }
}

TEST(ScenarioTest, AJournalTornAtAnyByteLosesNothing) {
  Plan plan = ShortPlan(1);
  World reference(plan);
  reference.Run();
  ASSERT_GT(reference.crashes().writes().size(), 5u);
  for (const auto& [step, size] : reference.crashes().writes()) {
    for (size_t kept = 0; kept <= size; ++kept) {
      plan.am.crash_at_steps = {step};
      plan.am.torn_to = kept;
      World world(plan);
      world.Run();
      ASSERT_TRUE(IsRight(plan, world)) << "torn after " << kept << " bytes at step " << step;
      ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    }
  }
}

TEST(ScenarioTest, TasksRunOnAndKeepTheirExitCodesWhileThereIsNoAmForTenMinutes) {
  Plan plan = QuietPlan(2);
  plan.faults = {{Duration(1'000), KillKeeper{Duration(600'000)}}, {Duration(1'000), CrashAm{}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 2);
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
}

TEST(ScenarioTest, ExecutorsWithoutAnAmForTheOrphanTimeoutEndTheirTasks) {
  Plan plan = WorkersFor(2, Duration(300'000));
  plan.spec.timers.orphan_timeout = Duration(100'000);
  plan.spec.restart.lost.most = 0;
  plan.faults = {{Duration(1'000), KillKeeper{Duration(200'000)}}, {Duration(1'000), CrashAm{}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kInfra);
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 2);
}

TEST(ScenarioTest, AnExecutorThatIsCutOffEndsItsTaskBeforeItIsGivenUp) {
  Plan plan = WorkersFor(2, Duration(300'000));
  plan.tasks[kWorker0].process.obeys_term.reset();
  plan.spec.restart.lost.most = 0;
  plan.faults = {{Duration(5'000), CutNetwork{kWorker0, Duration(600'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kNodeLost);
}

TEST(ScenarioTest, AShortCutOfTheNetworkStopsNothing) {
  Plan plan = WorkersFor(2, Duration(60'000));
  plan.faults = {{Duration(5'000), CutNetwork{kWorker0, Duration(20'000), /*store_too=*/true}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, AnAmThatStandsStillIsReplacedAndNoTaskStops) {
  Plan plan = WorkersFor(3, Duration(120'000));
  plan.faults = {{Duration(5'000), FreezeAm{Duration(40'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<AmBegan>(world.history()), 2);
}

TEST(ScenarioTest, AnAmThatDoesNotReachItsArbiterStopsNoTask) {
  Plan plan = WorkersFor(2, Duration(200'000));
  plan.faults = {{Duration(5'000), FreezeKeeper{Duration(120'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, ALeaseRenewedWithoutRuleIsNoticedAndStopsNoTaskThatHearsOfIt) {
  Plan plan = WorkersFor(2, Duration(200'000));
  plan.faults = {{Duration(5'000), FreezeKeeper{Duration(50'000)}}};
  World world(plan, Flaw::kRenewsWithoutRule);
  world.Run();
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kRenewsWithoutRule), "\n"), "");
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
}

TEST(ScenarioTest, AContainerThatIsNeverGrantedEndsTheJobInTime) {
  Plan plan = QuietPlan(2);
  plan.spec.allocation_timeout = Duration(20'000);
  plan.tasks[kWorker1].grant = Duration(3'600'000);
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kTimeout);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 0);
}

TEST(ScenarioTest, AProcessThatHangsIsEndedAtItsLimitWhereverTheAmCrashes) {
  Plan plan = WorkersFor(2, Duration(500'000));
  plan.spec.timers.execution_limit = Duration(10'000);
  CrashAtEveryStep(plan, FinalState::kFailed, OutcomeClass::kTimeout);
}

TEST(ScenarioTest, FirstComeFirstServedEachTaskRunsAsItGetsItsContainer) {
  Plan plan = WorkersFor(3, Duration(1'000));
  plan.spec.mode = DistributedMode::kFcfs;
  plan.tasks[kWorker2].grant = Duration(30'000);
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

// What engines ask of a job of some seconds. A new AM rules within a second.
Plan Asked(std::vector<TimedFault> asked) {
  Plan plan = WorkersFor(2, Duration(8'000));
  plan.claim = {.owner = {"o1"}};
  plan.faults = std::move(asked);
  return plan;
}

TEST(ScenarioTest, ALateKillOfAnOwnerThatWasReplacedDoesNothingWhereverTheAmCrashes) {
  CrashAtEveryStep(Asked({{Duration(1'000), AskAttach{{.owner = {"o2"}}}},
                          {Duration(4'000), AskConditionalKill{{.if_owner = {"o1"}}, {}}}}),
                   FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, AKillOfTheOwnerEndsTheJobWhereverTheAmCrashes) {
  CrashAtEveryStep(Asked({{Duration(1'000), AskAttach{{.owner = {"o2"}}}},
                          {Duration(4'000), AskConditionalKill{{.if_owner = {"o2"}}, {}}}}),
                   FinalState::kKilled, OutcomeClass::kKilled);
}

TEST(ScenarioTest, AnotherWatcherVoidsAPlannedKillWhereverTheAmCrashes) {
  CrashAtEveryStep(Asked({{Duration(500), AskLook{{"w1"}}},
                          {Duration(1'500), AskConditionalKill{{.if_watcher = {"w1"}}, Duration(4'000)}},
                          {Duration(3'500), AskLook{{"w2"}}}}),
                   FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, AJobThatNobodyLooksAtIsAbandonedWhereverTheAmCrashes) {
  Plan plan = Asked({{Duration(500), AskLook{}}});
  plan.claim.watch_timeout = Duration(3'000);
  CrashAtEveryStep(plan, FinalState::kKilled, OutcomeClass::kAbandoned);
}

}  // namespace
}  // namespace tony::sim
