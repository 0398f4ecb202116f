// Tests roles with a limit on the number of tasks that run at the same time.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kTwoOfFive[] = "trial*5:parallel=2:fails=5 standalone fcfs lost=0";

const TestRow kParallelRows[] = {
    {"OnlyAsManyContainersAreRequestedAsTasksMayRun",
     {{"start", "also request trial:0#1 trial:1#1; trial:2 is new; trial:2 state waiting"},
      {"all-granted, all-registered, all-run", "trial:4 state waiting"}}},
    {"TheNextTaskIsRequestedWhenTheContainerOfAnEndedTaskHasEnded",
     {{"begun, report trial:1 success", "attempt_ended; trial:2 state waiting"},
      {"exit trial:1", "container_ended containers_requested; also request trial:2#1"}}},
    {"AToleratedFailureGivesItsPlaceToTheNextTask",
     {{"begun, report trial:0 fails 3", "attempt_ended failure_tolerated"},
      {"exit trial:0", "container_ended containers_requested; also request trial:2#1"}}},
    {"ATaskThatWaitsForItsRestartKeepsItsPlace",
     {{"+task=2 backoff=5s/5s: begun, report trial:0 fails 3, register trial:0#2, heartbeat trial:0#2, report "
       "trial:0#2 "
       "fails 3, exit trial:0#2",
       "container_ended; trial:0 state backoff; trial:2 state waiting"}}},
    {"TheJobSucceedsOnlyAfterItsLastTaskHasRun",
     {{"job trial*3:parallel=1 standalone fcfs: start, place trial:0, heartbeat trial:0, report trial:0 success, exit "
       "trial:0, place trial:1, heartbeat trial:1, report trial:1 success",
       "attempt_ended; state RUNNING"},
      {"exit trial:1, place trial:2, heartbeat trial:2, report trial:2 success", "verdict SUCCEEDED"}}},
    {"TasksThatNeverStartedAreNotRequestedOnceEnoughHaveSucceeded",
     {{"job trial*5:parallel=2:succeeds=1 other*1 standalone fcfs: start, all-granted, all-registered, all-run, report "
       "trial:0 success, exit trial:0",
       "container_ended; trial:2 state waiting"}}},
    {"AKillEndsTheJobWhileTasksWait",
     {{"begun, kill", "trial:2 state waiting"}, {"end trial:0 killed, end trial:1 killed", "ended"}}},
    {"ANewMasterRequestsOnlyTheTasksThatAreNext",
     {{"begun, report trial:0 success, exit trial:0, replay -1", "trial:2 state waiting"},
      {"start 2", "epoch_began containers_requested; also request trial:2#1; trial:3 state waiting"}}},
    {"ATaskThatIsLostRestartsInItsOwnPlace",
     {{"+lost=1: begun, exit trial:0",
       "attempt_ended container_ended restart_decided restart_began; also request trial:0#2; trial:2 state waiting"}}},
    {"OnlySingleTasksRestartIfOneRoleHasALimit",
     {{"+db*1:fails=1 gang=1 job=1: begun, report trial:0 fails 3", "attempt_ended failure_tolerated"},
      {"report db:0 fails 3", "lacks restart_decided; verdict of db:0"}}},
    {"ALaterRoleWithALimitAlsoStartsInWaves",
     {{"+data*1 trial*5:parallel=2:waits=data: start, place data:0, heartbeat data:0, report data:0 success",
       "attempt_ended containers_requested; also request trial:0#1 trial:1#1; trial:2 state waiting"}}},
};
TABLE_TEST(LimitedRoleTest, kParallelRows, Script(kTwoOfFive, "start, all-granted, all-registered, all-run"));

}  // namespace
}  // namespace tony::am
