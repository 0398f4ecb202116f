// Runs in which one thing goes wrong, at every point where it can.
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/world.h"

namespace tony::sim {
namespace {

const TaskId kWorker0{"worker", 0};
const TaskId kWorker1{"worker", 1};

Plan ShortPlan(int workers) {
  Plan plan = QuietPlan(workers);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(1'500);
  return plan;
}

template <class T>
int Count(const History& history) {
  int count = 0;
  for (const Seen& seen : history.events()) count += std::holds_alternative<T>(seen.event) ? 1 : 0;
  return count;
}

// The history is right; otherwise the trace says what happened.
testing::AssertionResult IsRight(const Plan& plan, const World& world) {
  const auto complaints = HistoryChecker::Check(plan.spec, world.history());
  if (complaints.empty()) return testing::AssertionSuccess();
  World again(plan, Flaw::kNone, /*with_trace=*/true);
  again.Run();
  return testing::AssertionFailure() << Join(complaints, "\n") << "\n" << again.history().trace();
}

void ExpectVerdict(const World& world, FinalState state, OutcomeClass cls) {
  ASSERT_TRUE(world.status().has_value());
  EXPECT_EQ(ToString(world.status()->state), ToString(state)) << world.status()->message;
  EXPECT_EQ(ToString(world.status()->cls), ToString(cls)) << world.status()->message;
}

// Runs `plan` once for every step of its AM, with a crash there.
void CrashAtEveryStep(Plan plan, FinalState state, OutcomeClass cls) {
  World reference(plan);
  reference.Run();
  ASSERT_TRUE(IsRight(plan, reference));
  ExpectVerdict(reference, state, cls);
  const int64_t steps = reference.crashes().steps();
  ASSERT_GT(steps, 20);
  for (int64_t step = 1; step <= steps; ++step) {
    plan.am.crash_at_steps = {step};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << "crash at step " << step;
    // With its last step it dismisses the keeper, who then starts no other AM.
    EXPECT_EQ(Count<AmBegan>(world.history()), step < steps ? 2 : 1) << "crash at step " << step;
    ExpectVerdict(world, state, cls);
  }
}

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
  plan.am.shortest_start = plan.am.longest_start = Duration(600'000);
  plan.faults = {{Duration(601'000), CrashAm{}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 2);
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
}

TEST(ScenarioTest, ExecutorsWithoutAnAmForTheOrphanTimeoutEndTheirTasks) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(300'000);
  plan.spec.timers.orphan_timeout = Duration(100'000);
  plan.am.shortest_start = plan.am.longest_start = Duration(200'000);
  plan.faults = {{Duration(201'000), CrashAm{}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kInfra);
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 2);
}

TEST(ScenarioTest, AnExecutorThatIsCutOffEndsItsTaskBeforeItIsGivenUp) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(300'000);
  plan.tasks[kWorker0].process.obeys_term.reset();
  plan.faults = {{Duration(5'000), CutNetwork{kWorker0, Duration(600'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kNodeLost);
}

TEST(ScenarioTest, AShortCutOfTheNetworkStopsNothing) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(60'000);
  plan.faults = {{Duration(5'000), CutNetwork{kWorker0, Duration(20'000), /*store_too=*/true}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, AnAmThatStandsStillIsReplacedAndNoTaskStops) {
  Plan plan = QuietPlan(3);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(120'000);
  plan.faults = {{Duration(5'000), FreezeAm{Duration(40'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<AmBegan>(world.history()), 2);
}

TEST(ScenarioTest, AnAmThatDoesNotReachItsArbiterStopsNoTask) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(200'000);
  plan.faults = {{Duration(5'000), LoseKeeper{Duration(120'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(ScenarioTest, ALeaseRenewedWithoutRuleWouldStopTheTasks) {
  Plan plan = QuietPlan(2);
  for (auto& [id, task] : plan.tasks) task.process.run = Duration(200'000);
  plan.faults = {{Duration(5'000), LoseKeeper{Duration(50'000)}}};
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kRenewsWithoutRule), "\n"), "");
}

TEST(ScenarioTest, AContainerThatIsNeverGrantedEndsTheJobInTime) {
  Plan plan = QuietPlan(2);
  plan.spec.registration_timeout = Duration(20'000);
  plan.tasks[kWorker1].grant = Duration(3'600'000);
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kTimeout);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 0);
}

}  // namespace
}  // namespace tony::sim
