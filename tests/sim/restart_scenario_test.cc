// Restarts of tasks, and further faults during a restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/strings.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/scenario.h"

namespace tony::sim {
namespace {

const TestRow kRestarts[] = {
    // ---- ends of tasks
    {"AFailedTaskRestartsAloneInItsExecutor",
     {{"worker*2 task=1, all runs 1500ms, worker:1 first runs 500ms fails 3",
       "SUCCEEDED success; 1 starts of worker:0; 2 starts of worker:1; 2 containers; 1 begun"}}},
    {"AGangRestartsAsTheNextGenerationInTheSameExecutors",
     {{"worker*3 pytorch gang=1, all runs 1500ms, worker:1 first runs 500ms fails 3",
       "SUCCEEDED success; 3 containers; 6 starts; last worker:0 generation 2"}}},
    {"ASidecarConfiguredToOutliveGangRestartsIsNotStopped",
     {{"board*1:sidecar:outlives worker*2 pytorch gang=1, all runs 1500ms, board:0 runs 60s, worker:1 first runs 500ms "
       "fails 3",
       "SUCCEEDED success; 1 starts of board:0; 2 starts of worker:0"}}},
    {"AGangRestartThatKeepsASidecarRunningSurvivesAnAmCrashAtAnyStep",
     {{"board*1:sidecar:outlives worker*2 pytorch gang=1, all runs 1500ms, board:0 runs 60s, worker:1 first runs 500ms "
       "fails 3",
       "SUCCEEDED success everywhere"}}},
    {"ATaskRestartSurvivesAnAmCrashAtAnyStep",
     {{"worker*2 task=1, all runs 1500ms, worker:1 first runs 500ms fails 3", "SUCCEEDED success everywhere"}}},
    {"AGangRestartSurvivesAnAmCrashAtAnyStep",
     {{"worker*3 pytorch gang=1, all runs 1500ms, worker:1 first runs 500ms fails 3", "SUCCEEDED success everywhere"}}},
    {"AJobRestartSurvivesAnAmCrashAtAnyStep",
     {{"worker*2 pytorch job=1, all runs 1500ms, worker:1 first runs 500ms fails 3", "SUCCEEDED success everywhere"}}},
    {"TheReplacementOfAKilledExecutorSurvivesAnAmCrashAtAnyStep",
     {{"worker*2 pytorch, all runs 1500ms, at 1s kill-executor worker:0", "SUCCEEDED success everywhere"}}},
    // A cluster on which each container is granted after ten seconds.
    {"AGangKeepsItsContainersWhileItWaitsForAReplacementContainer",
     {{"worker*3 pytorch gang=1 yarn hold=12s, all runs 20s granted 10s, at 15s kill-executor worker:0",
       "SUCCEEDED success; 4 containers; 1 restart_decided"}}},
    {"AGangReturnsItsContainersAfterTheHoldTimeoutDespiteAnAmCrashAtAnyStep",
     {{"worker*3 pytorch gang=1 yarn hold=4s, all runs 20s granted 10s, at 15s kill-executor worker:0",
       "6 containers; last worker:1 attempt 3; 2 restart_decided; restart 2 job; SUCCEEDED success everywhere"}}},
    {"ACheckpointSearchSurvivesAnAmCrashAtAnyStep",
     {{"worker*2 pytorch gang=1 checkpoints=3, look-takes 300ms, all runs 1500ms saves 200ms, worker:1 first runs "
       "500ms fails 3",
       "SUCCEEDED success everywhere"}}},
    {"AJobResumesFromItsOwnCheckpointDespiteAnAmCrashAtAnyStep",
     {{"worker*2 pytorch gang=1 checkpoints=3, look-takes 300ms, all runs 1500ms saves 200ms, worker:1 first runs "
       "500ms fails 3, others",
       "SUCCEEDED success everywhere; 2 starts of worker:1; first worker:1 resumes; last worker:1 resumes "
       "/checkpoints/worker-0-400"}}},
    {"AJobConfiguredToResumeFromTheLatestCheckpointUsesAnotherJobsCheckpoint",
     {{"worker*2 pytorch gang=1 checkpoints=3, look-takes 300ms, all runs 1500ms saves 200ms, worker:1 first runs "
       "500ms fails 3, others, latest",
       "SUCCEEDED success everywhere; first worker:1 resumes /checkpoints/other-900"}}},
    {"RestartBudgetsSurviveTwoAmCrashes",
     {{"worker*2 task=2, all runs 20s, worker:1 runs 700ms fails 3, at [100-5000/100]ms crash-am, at [1100-6000/100]ms "
       "crash-am",
       "FAILED user_error; 3 starts of worker:1"}}},
    {"AGangRestartWaitsUntilATaskThatIgnoresSigtermIsKilled",
     {{"worker*3 pytorch gang=1, all runs 1500ms, worker:0 first runs 100s deaf leaves-children, worker:1 first runs "
       "500ms fails 3",
       "SUCCEEDED success; 2 starts of worker:1; 3 containers"}}},
    {"AnOldAttemptIsRejectedAndStoppedWhenItsLostNodeReturns",
     {{"worker*2 pytorch gang=1, all runs 100s, at 1s lose worker:0 150s", "SUCCEEDED success; 2 starts of worker:0"}}},
    {"ATaskIsReplacedIfItsNodeIsLostDuringAGangRestart",
     {{"worker*3 pytorch gang=1, all runs 1500ms, worker:0 first runs 100s obeys 300ms, worker:1 first runs 500ms "
       "fails 3, at {510|530|560|1000}ms lose worker:0 30s",
       "SUCCEEDED success"},
      {"worker*3 pytorch gang=1, all runs 1500ms, worker:0 first runs 100s obeys 300ms, worker:1 first runs 500ms "
       "fails 3, at {510|530|560|1000}ms lose worker:0 30s dies",
       "SUCCEEDED success"}}},
    {"ASecondFailureDuringAGangRestartCausesNoSecondRestart",
     {{"worker*3 pytorch gang=1, all runs 1500ms, worker:0 first runs 100s obeys 2s, worker:1 first runs 500ms fails "
       "3, worker:2 first runs 1s fails 4 obeys 5s",
       "SUCCEEDED success; 1 restart_decided"}}},
    {"AKillDuringTheBackOffEndsTheJobAtOnce",
     {{"worker*1 task=5 backoff=60s/60s, worker:0 runs 500ms fails 3, at 5s kill",
       "KILLED killed everywhere; 2 starts of worker:0; over in 10s"}}},
    {"APreemptedTaskSavesACheckpointAndResumesFromIt",
     {{"worker*1 checkpoints=3, all runs 60s saves 1s obeys 1500ms, at 30500ms preempt worker:0 5s",
       "SUCCEEDED success; 2 starts of worker:0; last worker:0 resumes /checkpoints/worker-0-31000; 1 restart_decided; "
       "restart 1 free; over in 65s"}}},
    {"ThreeRestartsWithoutANewerCheckpointFailTheJob",
     {{"worker*1 task=100 checkpoints=3, worker:0 runs 500ms fails 3",
       "FAILED user_error says `~3 restarts produced no newer checkpoint`; 4 starts of worker:0"}}},
    {"ExitCode193RestartsATaskWithoutARestartBudgetAndExitCode194FailsTheJob",
     {{"worker*1, all runs 1500ms, worker:0 first runs 500ms fails 193", "SUCCEEDED success"},
      {"worker*1 task=5, all runs 1500ms, worker:0 first runs 500ms fails 194",
       "FAILED user_error; 1 starts of worker:0"}}},
    // ---- schedulers and executors
    {"AFalseExitReportLetsATasksProcessesOverlapOnlyBriefly",
     {{"worker*2 pytorch, all runs 30s, at 5s lie-about worker:0 {100ms|5s|20s}", "SUCCEEDED success"}}},
    {"ATaskKeepsRunningDespiteAReportedNodeLossIfHeartbeatsContinue",
     {{"worker*2 pytorch, all runs 30s, at 5s doubt worker:0", "SUCCEEDED success; 1 starts of worker:0"}}},
    {"ASilentTaskOnALostNodeIsReplacedAfterItsExecutorHasEndedTheTask",
     {{"worker*2 pytorch, all runs 30s, at 5s doubt worker:0, at 5s cut worker:0 300s store",
       "SUCCEEDED success; 2 starts of worker:0"}}},
    {"AnExecutorThatCannotBeginTheNextAttemptIsReplaced",
     {{"worker*2 pytorch gang=1, all runs 1500ms, worker:0 cannot-begin, worker:1 first runs 500ms fails 3",
       "SUCCEEDED success; 3 containers"}}},
    {"ContainersThatExitImmediatelyAreReplacedUntilAContainerRuns",
     {{"worker*2 pytorch, all runs 1500ms, worker:1 launches-fail 3", "SUCCEEDED success"}}},
    {"AnOomBeforeTheExecutorRegistersFailsTheJob",
     {{"worker*2 pytorch, all runs 1500ms, worker:0 launched 500ms, at 300ms end worker:0 oom", "FAILED oom"}}},
};
TABLE_TEST(RestartScenarioTest, kRestarts, CheckPlan);

TEST(RestartScenarioTest, TheCheckerDetectsAGangRestartThatExcludesAnOrdinarySidecar) {
  Plan plan = PlanOf(
      "board*1:sidecar:outlives worker*2 pytorch gang=1, all runs 1500ms, board:0 runs 60s, worker:1 first runs 500ms "
      "fails 3");
  World world(plan);
  world.Run();
  plan.spec.roles[0].outlives_restarts = false;
  EXPECT_THAT(Join(HistoryChecker::Check(plan.spec, world.history()), "\n"),
              testing::HasSubstr("restart 1 of the wrong tasks"));
}

TEST(RestartScenarioTest, TenRestartsWithNewerCheckpointsDoNotFailTheJob) {
  std::string plan = "worker*1 task=100 checkpoints=3, all runs 10s saves 400ms";
  for (int i = 1; i <= 10; ++i) plan += StrCat(", worker:0 first runs ", 500 * i, "ms fails 3");
  CheckPlan({plan, "SUCCEEDED success; 11 starts of worker:0"});
}

}  // namespace
}  // namespace tony::sim
