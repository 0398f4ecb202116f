// Tasks that start again, and what may go wrong meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

constexpr Duration kSoon{1'500};

ProcessPlan FailsAfter(Duration run, int exit_code = 3) { return {.run = run, .exit_code = exit_code}; }

// Standalone workers, each of which may start again so often.
Plan LonersFor(int workers, Duration run, int restarts) {
  Plan plan = WorkersFor(workers, run);
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kTask)].most = restarts;
  return plan;
}

void WriteCheckpoints(Plan& plan, Duration every) {
  plan.spec.checkpoint.directory = "/checkpoints";
  for (auto& [id, task] : plan.tasks) {
    task.process.checkpoint_every = every;
    for (ProcessPlan& process : task.earlier) process.checkpoint_every = every;
  }
}

std::vector<ProcessStarted> StartsOf(const World& world, const TaskId& task) {
  auto all = All<ProcessStarted>(world.history());
  std::erase_if(all, [&](const ProcessStarted& start) { return start.attempt.task != task; });
  return all;
}

TEST(RestartScenarioTest, ATaskThatFailsStartsAgainAloneInItsExecutor) {
  Plan plan = LonersFor(2, kSoon, 1);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 1u);
  EXPECT_EQ(StartsOf(world, kWorker1).size(), 2u);
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 2);
  EXPECT_EQ(Count<AttemptBegun>(world.history()), 1);
}

TEST(RestartScenarioTest, AGangStartsAgainInItsExecutorsAsTheNextGeneration) {
  Plan plan = GangFor(3, kSoon, 1);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 3);
  EXPECT_EQ(Count<ProcessStarted>(world.history()), 6);
  EXPECT_EQ(StartsOf(world, kWorker0).back().generation, Generation{2});
}

// A gang of two with a sidecar that lives on.
Plan GangWithOutliver() {
  const TaskId board{"board", 0};
  Plan plan = GangFor(2, kSoon, 1);
  plan.spec.roles.insert(
      plan.spec.roles.begin(),
      {.name = "board", .command = "show", .completion = Completion::kSidecar, .outlives_restarts = true});
  plan.tasks[board].process.run = Duration(60'000);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  return plan;
}

TEST(RestartScenarioTest, ASidecarThatOutlivesAGangsRestartIsNotTouched) {
  World world(GangWithOutliver());
  world.Run();
  EXPECT_TRUE(IsRight(GangWithOutliver(), world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, {"board", 0}).size(), 1u);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 2u);
}

TEST(RestartScenarioTest, AGangsRestartBesideASidecarSurvivesACrashAtAnyStep) {
  CrashAtEveryStep(GangWithOutliver(), FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, ASidecarThatDoesNotSaySoMayNotBeLeftOut) {
  Plan plan = GangWithOutliver();
  World world(plan);
  world.Run();
  plan.spec.roles[0].outlives_restarts = false;
  EXPECT_THAT(Join(HistoryChecker::Check(plan.spec, world.history()), "\n"),
              testing::HasSubstr("restart 1 of the wrong tasks"));
}

TEST(RestartScenarioTest, ARestartOfATaskSurvivesACrashAtAnyStep) {
  Plan plan = LonersFor(2, kSoon, 1);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, ARestartOfAGangSurvivesACrashAtAnyStep) {
  Plan plan = GangFor(3, kSoon, 1);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, ARestartOfAJobSurvivesACrashAtAnyStep) {
  Plan plan = GangFor(2, kSoon, 0);
  plan.spec.restart.levels[static_cast<size_t>(RestartScope::kJob)].most = 1;
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, TheReplacementOfAKilledExecutorSurvivesACrashAtAnyStep) {
  Plan plan = GangFor(2, kSoon, 0);
  plan.faults = {{Duration(1'000), KillExecutor{kWorker0}}};
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

// On a cluster on which each container takes ten seconds to come.
Plan SlowClusterFor(int workers, Duration hold) {
  Plan plan = GangFor(workers, Duration(20'000), 1);
  plan.spec.scheduler = kYarnScheduler;
  plan.spec.yarn.gang_hold = hold;
  for (auto& [id, task] : plan.tasks) task.grant = Duration(10'000);
  plan.faults = {{Duration(15'000), KillExecutor{kWorker0}}};
  return plan;
}

TEST(RestartScenarioTest, AGangKeepsItsContainersWhileItWaitsForOne) {
  const Plan plan = SlowClusterFor(3, Duration(12'000));
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 4);
  EXPECT_EQ(Decided<RestartDecided>(world.history()).size(), 1u);
}

TEST(RestartScenarioTest, AGangThatWaitsTooLongForOneContainerGivesTheOthersBackWhereverItsAmCrashes) {
  const Plan plan = SlowClusterFor(3, Duration(4'000));
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 6);
  EXPECT_EQ(StartsOf(world, kWorker1).back().attempt.number, 3);
  const auto restarts = Decided<RestartDecided>(world.history());
  ASSERT_EQ(restarts.size(), 2u);
  EXPECT_EQ(restarts[1].scope, RestartScope::kJob);
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, ALookForACheckpointSurvivesACrashAtAnyStep) {
  Plan plan = GangFor(2, kSoon, 1);
  plan.am.longest_look = Duration(300);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  WriteCheckpoints(plan, Duration(200));
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

// Of others, newer than all that the job writes.
Plan AmongOthersCheckpoints() {
  Plan plan = GangFor(2, kSoon, 1);
  plan.am.longest_look = Duration(300);
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  WriteCheckpoints(plan, Duration(200));
  plan.of_others = {{"/checkpoints/other-900", 900'000, FromMillis(1), CheckpointWriter::kOthers}};
  return plan;
}

TEST(RestartScenarioTest, AJobGoesOnFromItsOwnCheckpointWhereverItsAmCrashes) {
  const Plan plan = AmongOthersCheckpoints();
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  World world(plan);
  world.Run();
  const auto starts = StartsOf(world, kWorker1);
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[0].resume_from, "");
  EXPECT_EQ(starts[1].resume_from, "/checkpoints/worker-0-400");
}

TEST(RestartScenarioTest, AJobThatAsksForTheLatestBeginsWithOthersCheckpoint) {
  Plan plan = AmongOthersCheckpoints();
  plan.spec.checkpoint.resume_latest = true;
  CrashAtEveryStep(plan, FinalState::kSucceeded, OutcomeClass::kSuccess);
  World world(plan);
  world.Run();
  EXPECT_EQ(StartsOf(world, kWorker1).front().resume_from, "/checkpoints/other-900");
}

TEST(RestartScenarioTest, BudgetsSurviveTheAm) {
  for (int64_t at = 100; at <= 5'000; at += 100) {
    Plan plan = LonersFor(2, Duration(20'000), 2);
    plan.tasks[kWorker1].process = FailsAfter(Duration(700));
    plan.faults = {{Duration(at), CrashAm{}}, {Duration(at + 1'000), CrashAm{}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << at;
    ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kUserError);
    EXPECT_EQ(StartsOf(world, kWorker1).size(), 3u) << at;
  }
}

TEST(RestartScenarioTest, AGangWaitsForAStragglerAndNothingOfItRunsOn) {
  Plan plan = GangFor(3, kSoon, 1);
  plan.tasks[kWorker0].earlier = {{.run = Duration(100'000), .obeys_term = std::nullopt, .leaves_children = true}};
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  const auto starts = StartsOf(world, kWorker1);
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 3);
}

TEST(RestartScenarioTest, AStragglerOnANodeThatCameBackIsRefusedAndStopped) {
  Plan plan = GangFor(2, Duration(100'000), 1);
  plan.faults = {{Duration(1'000), LoseNode{kWorker0, Duration(150'000), /*dies=*/false}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 2u);
}

TEST(RestartScenarioTest, ANodeLostDuringARestartIsReplaced) {
  for (const Duration at : {Duration(510), Duration(530), Duration(560), Duration(1'000)}) {
    for (const bool dies : {false, true}) {
      Plan plan = GangFor(3, kSoon, 1);
      plan.tasks[kWorker0].earlier = {{.run = Duration(100'000), .obeys_term = Duration(300)}};
      plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
      plan.faults = {{at, LoseNode{kWorker0, Duration(30'000), dies}}};
      World world(plan);
      world.Run();
      ASSERT_TRUE(IsRight(plan, world)) << at.count();
      ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
    }
  }
}

TEST(RestartScenarioTest, ASecondFailureDuringARestartIsNotChargedAgain) {
  Plan plan = GangFor(3, kSoon, 1);
  plan.tasks[kWorker0].earlier = {{.run = Duration(100'000), .obeys_term = Duration(2'000)}};
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  plan.tasks[kWorker2].earlier = {{.run = Duration(1'000), .exit_code = 4, .obeys_term = Duration(5'000)}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Decided<RestartDecided>(world.history()).size(), 1u);
}

TEST(RestartScenarioTest, AKillDuringTheBackOffEndsTheJobAtOnce) {
  Plan plan = LonersFor(1, kSoon, 5);
  plan.spec.restart.backoff = plan.spec.restart.longest_backoff = Duration(60'000);
  plan.tasks[kWorker0].process = FailsAfter(Duration(500));
  plan.faults = {{Duration(5'000), AskKill{}}};
  CrashAtEveryStep(plan, FinalState::kKilled, OutcomeClass::kKilled);
  World world(plan);
  world.Run();
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 2u);
  EXPECT_LT(world.history().events().back().time - Timeline::kStart, Duration(10'000));
}

TEST(RestartScenarioTest, APreemptedTaskSavesItsWorkAndResumes) {
  Plan plan = WorkersFor(1, Duration(60'000));
  WriteCheckpoints(plan, Duration(1'000));
  plan.tasks[kWorker0].process.obeys_term = Duration(1'500);
  plan.faults = {{Duration(30'500), Preempt{kWorker0, Duration(5'000)}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  const auto starts = StartsOf(world, kWorker0);
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[1].resume_from, "/checkpoints/worker-0-31000");
  const auto restarts = Decided<RestartDecided>(world.history());
  ASSERT_EQ(restarts.size(), 1u);
  EXPECT_FALSE(restarts[0].charged);
  EXPECT_LT(world.history().events().back().time - Timeline::kStart, Duration(65'000));
}

TEST(RestartScenarioTest, ThreeRestartsWithoutANewerCheckpointEndTheJob) {
  Plan plan = LonersFor(1, kSoon, 100);
  plan.spec.checkpoint.directory = "/checkpoints";
  plan.tasks[kWorker0].process = FailsAfter(Duration(500));
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kUserError);
  EXPECT_NE(world.status()->message.find("3 restarts without a newer checkpoint"), std::string::npos);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 4u);
}

TEST(RestartScenarioTest, ProgressBetweenRestartsKeepsTheJobAlive) {
  Plan plan = LonersFor(1, Duration(10'000), 100);
  WriteCheckpoints(plan, Duration(400));
  for (int i = 0; i < 10; ++i)
    plan.tasks[kWorker0].earlier.push_back(
        {.run = Duration(500 * (i + 1)), .exit_code = 3, .checkpoint_every = Duration(400)});
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 11u);
}

TEST(RestartScenarioTest, UserCodeMaySayItself) {
  Plan plan = WorkersFor(1, kSoon);
  plan.tasks[kWorker0].earlier = {FailsAfter(Duration(500), 193)};
  World transient(plan);
  transient.Run();
  EXPECT_TRUE(IsRight(plan, transient));
  ExpectVerdict(transient, FinalState::kSucceeded, OutcomeClass::kSuccess);

  plan = LonersFor(1, kSoon, 5);
  plan.tasks[kWorker0].earlier = {FailsAfter(Duration(500), 194)};
  World permanent(plan);
  permanent.Run();
  EXPECT_TRUE(IsRight(plan, permanent));
  ASSERT_TRUE(permanent.status());
  EXPECT_EQ(permanent.status()->state, FinalState::kFailed);
  EXPECT_EQ(StartsOf(permanent, kWorker0).size(), 1u);
}

TEST(RestartScenarioTest, ASchedulerThatLiesAboutAnEndCostsNoMoreThanTheOverlap) {
  for (const int64_t overlap : {100, 5'000, 20'000}) {
    Plan plan = GangFor(2, Duration(30'000), 0);
    plan.faults = {{Duration(5'000), LieAboutEnd{kWorker0, Duration(overlap)}}};
    World world(plan);
    world.Run();
    ASSERT_TRUE(IsRight(plan, world)) << overlap;
    ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  }
}

TEST(RestartScenarioTest, ALostNodesTaskThatStillSpeaksGoesOn) {
  Plan plan = GangFor(2, Duration(30'000), 0);
  plan.faults = {{Duration(5'000), DoubtEnd{kWorker0}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 1u);
}

TEST(RestartScenarioTest, ALostNodesTaskThatIsSilentIsReplacedWhenItHasEndedItself) {
  Plan plan = GangFor(2, Duration(30'000), 0);
  plan.faults = {{Duration(5'000), DoubtEnd{kWorker0}},
                 {Duration(5'000), CutNetwork{kWorker0, Duration(300'000), true}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(StartsOf(world, kWorker0).size(), 2u);
}

TEST(RestartScenarioTest, AnExecutorThatCannotTakeTheNextAttemptIsReplaced) {
  Plan plan = GangFor(2, kSoon, 1);
  plan.tasks[kWorker0].cannot_begin = true;
  plan.tasks[kWorker1].earlier = {FailsAfter(Duration(500))};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_EQ(Count<ContainerBegan>(world.history()), 3);
}

TEST(RestartScenarioTest, ContainersThatEndAtOnceAreReplacedUntilOneHolds) {
  Plan plan = GangFor(2, kSoon, 0);
  plan.tasks[kWorker1].launches_failing = 3;
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
}

TEST(RestartScenarioTest, AContainerThatEndsByOomBeforeItsExecutorRegisteredFailsTheJob) {
  Plan plan = GangFor(2, kSoon, 0);
  plan.tasks[kWorker0].launch = Duration(500);
  plan.faults = {{Duration(300), EndContainer{kWorker0, OutcomeClass::kOom}}};
  World world(plan);
  world.Run();
  EXPECT_TRUE(IsRight(plan, world));
  ExpectVerdict(world, FinalState::kFailed, OutcomeClass::kOom);
}

}  // namespace
}  // namespace tony::sim
