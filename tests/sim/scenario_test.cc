// Runs with one fault at every point where it may happen, and runs in which networks, disks, keepers and schedulers are
// away for a while. Some of these faults broke other controllers.
#include "tests/sim/scenario.h"

#include <gtest/gtest.h>

#include "runtime/base/strings.h"

namespace tony::sim {
namespace {

const TestRow kScenarios[] = {
    {"AJobSucceedsDespiteAnAmCrashAfterAnyStep", {{"worker*{1|2|3}, all runs 1500ms", "SUCCEEDED success everywhere"}}},
    {"AFailedTaskFailsTheJobDespiteAnAmCrashAtAnyStep",
     {{"worker*3, all runs 1500ms, worker:1 runs 1s fails 3", "FAILED user_error everywhere"}}},
    {"AKillEndsTheJobDespiteAnAmCrashAtAnyStep",
     {{"worker*3, all runs 1500ms, worker:1 deaf, at 1s kill within 2s", "KILLED killed everywhere"}}},
    {"AKilledExecutorFailsTheJobDespiteAnAmCrashAtAnyStep",
     {{"worker*2 lost=0, all runs 1500ms, at 1s kill-executor worker:0", "FAILED infra everywhere"}}},
    {"TasksKeepRunningAndExitCodesAreKeptDuringTenMinutesWithoutAnAm",
     {{"worker*2, at 1s kill-keeper 600s, at 1s crash-am", "SUCCEEDED success; 2 starts; 0 signals"}}},
    {"ExecutorsEndTheirTasksAfterTheOrphanTimeoutWithoutAnAm",
     {{"worker*2 lost=0, all runs 300s, orphan 100s, at 1s kill-keeper 200s, at 1s crash-am",
       "FAILED infra; 2 signals"}}},
    {"ADisconnectedExecutorEndsItsTaskBeforeTheAmDeclaresTheAttemptLost",
     {{"worker*2 lost=0, all runs 300s, worker:0 deaf, at 5s cut worker:0 600s", "FAILED node_lost"}}},
    {"ANetworkCutOf20SecondsStopsNoTask",
     {{"worker*2, all runs 60s, at 5s cut worker:0 20s store", "SUCCEEDED success"}}},
    {"AFrozenAmIsReplacedAndNoTaskStops",
     {{"worker*3, all runs 120s, at 5s freeze-am 40s", "SUCCEEDED success; 2 ams"}}},
    {"AKeeperFrozenFor120SecondsStopsNoTask",
     {{"worker*2, all runs 200s, at 5s freeze-keeper 120s", "SUCCEEDED success"}}},
    {"AContainerThatIsNeverGrantedFailsTheJobAtTheAllocationTimeout",
     {{"worker*2 allocation=20s, worker:1 granted 1h", "FAILED timeout; 0 starts"}}},
    {"AHangingProcessIsEndedAtTheExecutionLimitDespiteAnAmCrashAtAnyStep",
     {{"worker*2, all runs 500s, execution 10s", "FAILED timeout everywhere"}}},
    {"ATaskRunsAsSoonAsItHasAContainerInFcfsMode",
     {{"worker*3 fcfs, all runs 1s, worker:2 granted 30s", "SUCCEEDED success everywhere"}}},
    // Engines send requests to a job that runs for some seconds. A new AM leads within a second.
    {"AKillByAReplacedOwnerIsIgnoredDespiteAnAmCrashAtAnyStep",
     {{"worker*2, all runs 8s, owner o1, at 1s attach o2, at 4s kill if-owner o1", "SUCCEEDED success everywhere"}}},
    {"AKillByTheOwnerEndsTheJobDespiteAnAmCrashAtAnyStep",
     {{"worker*2, all runs 8s, owner o1, at 1s attach o2, at 4s kill if-owner o2", "KILLED killed everywhere"}}},
    {"ActivityOfASecondWatcherCancelsAPlannedKillDespiteAnAmCrashAtAnyStep",
     {{"worker*2, all runs 8s, owner o1, at 500ms look w1, at 1500ms kill if-watcher w1 4s, at 3500ms look w2",
       "SUCCEEDED success everywhere"}}},
    {"AJobWithoutClientActivityIsAbandonedDespiteAnAmCrashAtAnyStep",
     {{"worker*2, all runs 8s, owner o1, watch 3s, at 500ms look", "KILLED abandoned everywhere"}}},
};
TABLE_TEST(ScenarioTest, kScenarios, CheckPlan);

TEST(ScenarioTest, AJobSucceedsDespiteTwoAmCrashesWithinTenSteps) {
  Plan plan = PlanOf("worker*2, all runs 1500ms");
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

TEST(ScenarioTest, AJobSucceedsDespiteAJournalTornAtAnyByte) {
  Plan plan = PlanOf("worker*1, all runs 1500ms");
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

TEST(ScenarioTest, TheCheckerDetectsALeaseRenewalWithoutLeadershipAlthoughNoTaskStops) {
  const Plan plan = PlanOf("worker*2, all runs 200s, at 5s freeze-keeper 50s");
  World world(plan, Flaw::kRenewsWithoutRule);
  world.Run();
  EXPECT_EQ(Count<ProcessSignalled>(world.history()), 0);
  ExpectVerdict(world, FinalState::kSucceeded, OutcomeClass::kSuccess);
  EXPECT_NE(Join(ComplaintsAbout(plan, Flaw::kRenewsWithoutRule), "\n"), "");
  EXPECT_EQ(Join(ComplaintsAbout(plan), "\n"), "");
}

// ---- outages

const TestRow kOutages[] = {
    // skypilot-org/skypilot#6133: the network was away while the job ended, and its controller ran the job again.
    {"AJobThatEndsDuringANetworkOutageIsNotRunAgain",
     {{", at 9s cut worker:0 {2s|10s|28s}, at 9s cut worker:1 {2s|10s|28s}", "undisturbed"},
      {", at 9s cut worker:0 {2s|10s|28s} requests, at 9s cut worker:1 {2s|10s|28s} requests", "undisturbed"},
      {", at 9s cut worker:0 {2s|10s|28s} answers, at 9s cut worker:1 {2s|10s|28s} answers", "undisturbed"}}},
    {"AJobThatEndsDuringANetworkOutageOf300SecondsIsNotRunAgain",
     {{", at 9s cut worker:0 300s, at 9s cut worker:1 300s", "undisturbed"}}},
    {"APartitionThatHealsBeforeTheCutOffTimeoutStopsNoTask",
     {{"worker*3, all runs 60s, at 5s cut worker:0 25s{| requests| answers}, at 5s cut worker:1 25s{| requests| "
       "answers}, at 5s cut worker:2 25s{| requests| answers}",
       "undisturbed"}}},
    {"TheGangRestartsAfterANetworkPartitionOf100Seconds",
     {{"worker*3, all runs 60s, at 5s cut worker:1 100s{| requests| answers}", "SUCCEEDED success"}}},
    {"SilentTasksAreNotReplacedWhileTheLeaseCannotBeRenewed",
     {{", all runs 200s, at 30s cut worker:0 100s, at 30s cut worker:1 100s, at 1s lock-lease 180s", "undisturbed"}}},
    {"AReplacementStartsAfterTheEndOfATaskThatIgnoresSigtermDespiteClockDrift",
     {{", all runs 60s, seed [1-20/1], drift 500ms, worker:0 deaf, at 5s cut worker:0 100s", "SUCCEEDED success"}}},
    {"TheAmRestartsADeadKeeper",
     {{", all runs 1500ms, at [50-2000/50]ms kill-keeper 60s", "SUCCEEDED success; 2 starts"}}},
    {"AJobSucceedsEvenIfKeeperAndAmDie",
     {{", all runs 1500ms, at [100-1700/100]ms kill-keeper 20s, at [100-1700/100]ms crash-am",
       "SUCCEEDED success; 2 starts"}}},
    {"AJobFailsWithClassInfraAfterFiveAmCrashes", {{", all runs 60s, at 5s crash-am 10", "FAILED infra; 5 crashes"}}},
    {"AnAmThatCrashesFourTimesDoesNotEndTheJob", {{", all runs 60s, at 5s crash-am 3", "undisturbed"}}},
    {"TasksRunOnAFullDiskAndTheirExitsAreRecordedLater",
     {{", all runs 1500ms, at [0-2000/50]ms fill-disk 20s", "undisturbed"}}},
    {"AKillStopsTasksEvenIfTheDiskIsFull",
     {{", all runs 600s, at 5s fill-disk 60s, at 10s kill", "KILLED killed; tasks over in 12s"}}},
    {"AJobSucceedsDespiteAFullDiskAndAnAmCrash",
     {{", all runs 1500ms, at 1s fill-disk 1500ms, at [100-3000/100]ms crash-am", "undisturbed"}}},
    {"AJobSucceedsDespiteAFailedDiskSyncAndAnAmCrash",
     {{", all runs 1500ms, at [0-1700/20]ms fail-sync, at [100-1800/20]ms crash-am", "undisturbed"}}},
};
TABLE_TEST(OutageScenarioTest, kOutages, PlansLike("worker*2 pytorch gang=3", ""));

// The executors read the lease record from a store that they share, every two to ten seconds.

const TestRow kSharedStores[] = {
    {"RepeatedAmCrashesStopNoTask", {{", all runs 60s, at [5000-5900/100]ms crash-am 3", "undisturbed"}}},
    {"AJobThatEndsDuringANetworkOutageIsNotRunAgain",
     {{", at 9s cut worker:0 {2s|10s|28s}, at 9s cut worker:1 {2s|10s|28s}", "undisturbed"}}},
    {"APartitionThatHealsBeforeTheCutOffTimeoutStopsNoTask",
     {{", all runs 60s, at 5s cut worker:0 25s{| store}{| requests| answers}, at 5s cut worker:1 25s", "undisturbed"}}},
    {"TheGangRestartsAfterANetworkPartitionOf100Seconds",
     {{", all runs 60s, at 5s cut worker:1 100s{| requests| answers}", "SUCCEEDED success"},
      {", all runs 60s, at 5s cut worker:1 100s store{| requests| answers}", "SUCCEEDED success"}}},
    {"AReplacementStartsAfterTheEndOfATaskThatIgnoresSigterm",
     {{", all runs 60s, seed [1-20/1], drift 500ms, worker:0 deaf, at 5s cut worker:0 100s", "SUCCEEDED success"}}},
    {"TheAmRestartsADeadKeeper",
     {{", all runs 1500ms, at [50-2000/50]ms kill-keeper 60s", "SUCCEEDED success; 2 starts"}}},
};
TABLE_TEST(SharedStoreScenarioTest, kSharedStores, PlansLike("worker*2 pytorch gang=3", ", shared-store 1300ms"));

// The disk of these jobs stays full until the end.
const TestRow kDeadDisks[] = {
    {"AJobOnADeadDiskEndsWithTheResultOfItsTasks",
     {{", all runs 1500ms, at [500-2000/50]ms fill-disk 1000000s, at [500-2000/50]ms lock-lease 1000000s",
       "SUCCEEDED success; over in 41500ms"}}},
    {"AKillEndsAJobOnADeadDisk",
     {{", all runs 600s, at {500|5000|9990}ms fill-disk 1000000s, at {500|5000|9990}ms lock-lease 1000000s, at 10s "
       "kill",
       "KILLED killed; over in 60s"}}},
};
TABLE_TEST(DeadDiskScenarioTest, kDeadDisks, PlansLike("worker*2 pytorch gang=3", ", patience 30s"));

// skypilot-org/skypilot#10155: 24 recoveries in 19 hours, because "could not reach" was treated as "failed".
TEST(OutageScenarioTest, TwentyFiveNetworkOutagesOf20SecondsRestartNoTask) {
  std::string plan = "worker*2 pytorch gang=3, all runs 1000s";
  for (int i = 0; i < 25; ++i) {
    const char* direction = i % 3 == 0 ? "" : i % 3 == 1 ? " requests" : " answers";
    for (const char* task : {"worker:0", "worker:1"})
      plan += StrCat(", at ", 5 + i * 40, "s cut ", task, " 20s", direction);
  }
  CheckPlan({plan, "undisturbed"});
}

// skypilot-org/skypilot#10061: the controller was killed at the very end; work was torn down, and a recorded end was
// lost.
TEST(OutageScenarioTest, AnAmCrashInTheLast20StepsDoesNotDisturbTheJob) {
  const std::string_view text = "worker*2 pytorch gang=3, all runs 1500ms";
  World reference(PlanOf(text));
  reference.Run();
  for (int64_t back = 0; back < 20; ++back) {
    Plan plan = PlanOf(text);
    plan.am.crash_at_steps = {reference.crashes().steps() - back, reference.crashes().steps() - back + 4};
    ExpectPlan(plan, "undisturbed");
  }
}

// ---- tasks of several processes, which restart together

const TestRow kProcesses[] = {
    {"ATaskSucceedsOnlyAfterAllItsProcessesHaveEnded", {{"", "SUCCEEDED success; 6 starts; 0 signals"}}},
    // The third process of the first attempt fails; the second ignores SIGTERM.
    {"AJobWithSeveralProcessesPerTaskSucceedsDespiteAnAmCrashAtAnyStep",
     {{", worker:0 first alone beside runs 100s deaf beside runs 3s fails 7", "SUCCEEDED success everywhere"}}},
    {"TheFirstFailedProcessOfATaskDecidesTheOutcome",
     {{", worker:0 first alone beside runs 100s deaf beside runs 3s fails 7", "12 starts; worker:0#1 exit 7 of 2"}}},
    // The exit code is reported, and the budget would allow another attempt.
    {"ATaskWithAnUnkillableProcessIsNotRestarted",
     {{"worker*2, all alone, worker:0 children-stay fails 3", "FAILED user_error; 2 starts"}}},
};
TABLE_TEST(ProcessesScenarioTest, kProcesses,
           PlansLike("worker*2:processes=3 pytorch gang=1", ", all runs 10s beside runs 2s beside runs 12s"));

// ---- tasks that start in stages: each publishes a second after it has started

const TestRow kInStages[] = {
    {"StagesStartInOrder", {{"", "SUCCEEDED success; 4 starts; start 1 driver:0; start 2 ps:0"}}},
    {"AStagedJobSucceedsDespiteAnAmCrashAtAnyStep", {{"", "SUCCEEDED success everywhere"}}},
    {"ARestartedGangWaitsForNewlyPublishedValues",
     {{"gang=1, driver:0 first fails 1", "SUCCEEDED success everywhere; 4 stage_opened"}}},
    {"ADriverThatExitsWithoutPublishingItsValuesFailsTheJob", {{", driver:0 silent", "FAILED user_error everywhere"}}},
    {"ADriverThatNeverPublishesItsValuesFailsTheJobByTimeout",
     {{"registration=20s, driver:0 silent runs 100s", "FAILED timeout"}}},
    // The driver's executor reports the values that it has read as soon as it reaches the AM again.
    {"ValuesPublishedDuringANetworkCutReachTheAmAfterTheCut",
     {{", at 900ms cut driver:0 5s{| requests| answers}", "SUCCEEDED success; 2 values_published"}}},
};
TABLE_TEST(StageScenarioTest, kInStages,
           PlansLike("driver*1 ps*1:untracked worker*2 staged", ", driver:0 ps:0 publishes 1s, ps:0 runs 100s"));

// ---- roles with some tasks that may fail or are not needed

// Shard 0 of five fails after 2 s, and two shards succeed after 4 and 6 s, which is enough. The other shards are then
// stopped, while the collector goes on to 10 s.

const TestRow kCompletions[] = {
    {"ARoleIsStoppedOnceItReachesMinSucceeded", {{"", "SUCCEEDED success; 1 failure_tolerated; 1 role_finished"}}},
    {"AJobThatToleratesFailuresSucceedsDespiteAnAmCrashAtAnyStep", {{"", "SUCCEEDED success everywhere"}}},
    {"TooManyFailedTasksFailTheJobDespiteAnAmCrashAtAnyStep",
     {{", shard:1 shard:2 shard:3 runs 3s fails 4", "FAILED user_error everywhere"}}},
    // exit code 194: never restarted
    {"AGangRestartAlsoRestartsARoleThatReachedMinSucceeded",
     {{"shard*5:succeeds=2:restarts=0 gang=1, shard:0 fails 194, collector:0 first runs 8s fails 1",
       "SUCCEEDED success everywhere; 2 role_finished"}}},
};
TABLE_TEST(CompletionScenarioTest, kCompletions,
           PlansLike("collector*1 shard*5:succeeds=2",
                     ", shard:0 runs 2s fails 3, shard:1 runs 4s, shard:2 runs 6s, shard:3 shard:4 runs 300s"));

const TestRow kTonysRule[] = {
    {"TheChiefsOutcomeDecidesTheVerdictUnderTonysCompletionRule",
     {{", worker:1 runs 1s fails 1", "SUCCEEDED success everywhere"},
      {", worker:1 runs 1s fails 1, worker:0 runs 2s fails 1", "FAILED user_error everywhere"}}},
};
TABLE_TEST(CompletionScenarioTest, kTonysRule, PlansLike("worker*3 tonys-rule", ""));

// ---- roles that wait for each other, or may not outlive others

// data runs for a second; then two workers train. A server runs beside both, and no role waits for it.

const TestRow kPrepared[] = {
    {"DependentRolesStartInOrder", {{"", "SUCCEEDED success; 2 containers_requested"}}},
    {"AJobWithDependentRolesSucceedsDespiteAnAmCrashAtAnyStep", {{"", "SUCCEEDED success everywhere"}}},
    {"AGangRestartExcludesASucceededPrerequisiteRole",
     {{"gang=1, worker:0 first fails 1", "SUCCEEDED success everywhere; 1 starts of data:0"}}},
    {"ARoleStartsOnlyAfterALostTaskOfTheRoleIsReplaced",
     {{", worker:0 launches-fail 1", "SUCCEEDED success everywhere"}}},
    // Only worker:0 is requested again, because its container failed.
    {"AnIncompleteRoleOnYarnReturnsItsContainersAfterTheHoldTimeout",
     {{"yarn hold=2s, worker:0 granted 3s launches-fail 1",
       "SUCCEEDED success; 2 restart_decided; restart 1 1; restart 2 2"}}},
    {"WorkersStartOnlyAfterTheParameterServerIsReady",
     {{"worker*2:waits=data:ready=ps{| fcfs}, ps:0 publishes 3s", "SUCCEEDED success everywhere"}}},
    {"ARoleThatRunsBeyondItsTimeoutIsIgnoredOrFailsTheJobAsConfigured",
     {{"worker*2:{left|after}=data/4s", "{SUCCEEDED success|FAILED timeout} everywhere"}}},
};
TABLE_TEST(DependencyScenarioTest, kPrepared,
           PlansLike("data*1 ps*1:untracked worker*2:waits=data pytorch", ", data:0 runs 1s, ps:0 runs 100s"));

}  // namespace
}  // namespace tony::sim
