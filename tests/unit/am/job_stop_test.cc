// Kills, and the ladder by which everything that was started goes away: stop, grace, end of the container.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kStopping[] = {
    {"AKillBeforeAnyContainerEndsTheJobInThatTurn",
     {{"start, kill changed my mind",
       "job_stopping attempt_ended attempt_ended job_ended; orders withdraw worker:0#1 worker:1#1, end job; state "
       "KILLED; verdict killed says `changed my mind`"}}},
    {"AKillOfAnotherUserIsNamedInTheVerdict",
     {{"start, kill by `root (uid 0)` the machine is needed",
       "verdict says `killed by root (uid 0): the machine is needed`"}}},
    {"AGrantAfterAKillGoesBack", {{"start, grant worker:0, kill, grant worker:1", "nothing; orders kill c-worker-1"}}},
    {"AKillStopsContainersWhoseExecutorsHaveNotRegistered",
     {{"gathering, launched worker:0, register worker:1, kill",
       "job_stopping; orders tell worker:0#1, term c-worker-0, tell worker:1#1"}}},
    {"AnExecutorThatNeverStartedNeedsNoReport",
     {{"gathering, kill, exit worker:0 worker:1", "state KILLED; worker:0 is killed; worker:0 outcome killed"}}},
    // The order to stop reaches it by its first Await; it would otherwise report again and again until it is ended.
    {"AnExecutorThatRegistersAfterAKillStopsAndMayReport",
     {{"gathering, kill, register worker:0", "worker:0 told stop"},
      {"report worker:0 killed", "attempt_ended; worker:0 told release"}}},
    {"AKillWhileRunningTellsEveryExecutorAndWaitsForThem",
     {{"running, kill enough",
       "job_stopping; orders tell worker:0#1, tell worker:1#1; worker:0 told stop; worker:0 grace 10s; worker:0 is "
       "stopping; runs"},
      {"end worker:0 worker:1 killed", "over; state KILLED; verdict says `enough`"}}},
    {"AKillWithItsOwnGraceUsesThat", {{"running, kill within 0 enough", "worker:0 grace 0"}}},
    {"ATaskThatSucceedsJustBeforeItIsStoppedHasSucceeded",
     {{"running, kill, report worker:0 success, report worker:1 fails 1",
       "worker:0 is succeeded; worker:1 is failed; verdict KILLED"}}},
    {"AnEndThatNobodySawAfterTheOrderToStopIsWhatWasWanted",
     {{"running, kill, report worker:0 infra, exit worker:1", "worker:0 worker:1 is killed"}}},
    {"CommandNumbersGrowFromStartToStopToRelease",
     {{"running, note worker:0", "worker:0 numbered above 0"},
      {"kill", "worker:0 numbered above noted"},
      {"note worker:0, kill within 100ms faster", "worker:0 numbered above noted"},
      {"note worker:0, report worker:0 killed", "worker:0 numbered above noted"}}},
    {"ASecondKillWithAShorterGraceHurriesTheStop",
     {{"running, kill first, note worker:0, kill within 500ms second",
       "stop_hurried; orders tell worker:0#1, tell worker:1#1; worker:0 numbered above noted; worker:0 grace 500ms; "
       "verdict says `first`"}}},
    {"ASecondKillWithTheSameOrALongerGraceChangesNothing",
     {{"running, kill, kill", "nothing"}, {"kill within 20s patience", "nothing"}}},
    {"AKillWhileASucceededJobStopsDoesNotChangeItsVerdict",
     {{"job worker*1 ps*1:untracked: running, report worker:0 success, kill within 0 too late",
       "stop_hurried; verdict SUCCEEDED"}}},
    {"AKillAfterTheEndDoesNothing",
     {{"running, kill first, end worker:0 worker:1 killed, note, kill within 0 second", "unchanged"}}},
    {"AnExecutorThatDoesNotReportWithinTheGraceIsKilledWithItsContainer",
     {{"running, kill, report worker:1 killed, exit worker:1, pass 10s", "nothing"},
      {"deadline", "container_kill_ordered; orders kill c-worker-0; deadline none"},
      {"exit worker:0", "state KILLED"}}},
    {"AShorterGraceBringsTheKillOfTheContainerForward",
     {{"running, kill, note, kill within 0 faster", "deadline noted-10s"}}},
    {"AnExecutorThatDoesNotLeaveAfterItsReportIsKilledWithItsContainer",
     {{"running, report worker:0 success", "deadline later"},
      {"deadline", "container_kill_ordered; orders kill c-worker-0; state RUNNING"}}},
    {"EveryContainerThatOverstaysIsKilledOnce",
     {{"running, kill, deadline", "orders kill c-worker-0"},
      {"deadline", "orders kill c-worker-1"},
      {"pass 60s", "nothing"}}},
    {"AReportIsStillTakenAfterItsContainersKillWasOrdered",
     {{"running, kill, deadline, report worker:0 fails 2", "attempt_ended; worker:0 ended with fails 2"}}},
};
TABLE_TEST(JobStopTest, kStopping, Script("worker*2 grace=10s"));

TEST(JobStopTest, AThousandHurriesDoNotReachTheNumberOfTheRelease) {
  JobDriver driver(JobBuilder().Role("worker", 2).Build());
  driver.Running();
  driver.Kill("slowly", Duration(5000));
  for (int i = 1; i < 2000; ++i) driver.Kill("faster", Duration(5000 - i));
  const Command stop = driver.CommandFor("worker:0");
  driver.Report("worker:0", Killed());
  EXPECT_LT(stop.number, driver.CommandFor("worker:0").number);
}

}  // namespace
}  // namespace tony::am
