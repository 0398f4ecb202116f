// How a job without restarts ends by itself: who matters, what the verdict names, and that nothing is left behind.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kEnding[] = {
    {"ATrackedSuccessThatIsNotTheLastChangesNothingElse",
     {{"running, report worker:0 success",
       "attempt_ended; state RUNNING; worker:0 state done; worker:0 ended with success; worker:0 pid 0; worker:0 "
       "ended"}}},
    {"AnEndedTaskIsReleased", {{"running, report worker:0 success", "orders tell worker:0#1; worker:0 told release"}}},
    {"TheLastTrackedSuccessStopsUntrackedTasksAndSidecars",
     {{"running, report worker:0 worker:1 success",
       "attempt_ended job_stopping; orders tell worker:1#1, tell board:0#1, tell ps:0#1; ps:0 told stop; ps:0 grace "
       "10s; state STOPPING"}}},
    {"TheJobEndsOnlyWhenEveryContainerIsGone",
     {{"running, report worker:0 worker:1 success, report board:0 ps:0 killed, exit worker:1",
       "container_ended; verdict any"},
      {"exit {board:0|worker:0}", "container_ended; verdict any"},
      {"exit {worker:0|board:0}", "container_ended; verdict any"},
      {"exit ps:0",
       "container_ended job_ended; orders end job; state SUCCEEDED; ended; verdict success; ps:0 is killed"}}},
    {"AContainerThatLeavesEarlyIsNotMissedLater",
     {{"running, report worker:0 success, exit worker:0", "container_ended"},
      {"exit worker:0", "nothing; state RUNNING"}}},
    {"ATrackedFailureFailsTheJobAtOnce",
     {{"running, report worker:1 fails 3",
       "attempt_ended job_stopping; orders tell worker:1#1, tell board:0#1, tell ps:0#1, tell worker:0#1; verdict "
       "FAILED"}}},
    {"TheVerdictNamesTheFirstCauseThoughOthersFailLater",
     {{"running, report worker:1 fails 3, report worker:0 fails 1, report ps:0 fails 2, report board:0 killed, exit "
       "board:0 ps:0 worker:0 worker:1",
       "state FAILED; verdict of worker:1 on node-worker-1 exit 3 stderr Traceback; worker:0 is failed"}}},
    {"AnUntrackedFailureFailsTheJob",
     {{"running, report ps:0 fails 9", "attempt_ended job_stopping; verdict of ps:0"}}},
    {"AnUntrackedSuccessChangesNothing",
     {{"running, report ps:0 success", "attempt_ended"}, {"report worker:0 success", "attempt_ended"}}},
    {"ASidecarsFailureIsIgnored",
     {{"running, report board:0 fails 1", "attempt_ended"}, {"report worker:0 worker:1 success", "verdict SUCCEEDED"}}},
    {"BeforeTheGangFormedASidecarsEndFailsTheJob",
     {{"gathering, register worker:0, exit board:0",
       "attempt_ended container_ended job_stopping; verdict of board:0 infra"}}},
    {"WhileOthersStillWaitForContainersASidecarsEndFailsTheJob",
     {{"start, grant board:0, exit board:0",
       "attempt_ended container_ended job_stopping attempt_ended attempt_ended attempt_ended job_ended; state "
       "FAILED"}}},
    {"AnExecutorThatExitsWithoutAReportIsOurFaultNotTheUsers",
     {{"running, exit worker:0 by SEGV",
       "attempt_ended container_ended job_stopping; worker:0 is lost; verdict infra says `~signal 11`"}}},
    {"AnExecutorThatCouldNotBeStartedEndsTheJobWithTheReason",
     {{"gathering, exit worker:0 unseen says `start /x/tony-executor: permission denied`",
       "verdict infra says `~start /x/tony-executor: permission denied`"}}},
    {"AnOutcomeKeptOnDiskIsBelieved",
     {{"running, exit worker:0 kept success", "attempt_ended container_ended; worker:0 ended with success"}}},
    {"AKeptOutcomeOfAnExecutorThatNeverRegisteredIsNotBelieved",
     {{"gathering, exit worker:0 kept success", "worker:0 is lost; verdict infra"}}},
    {"AReportCountsMoreThanAKeptOutcomeFoundLater",
     {{"running, report worker:0 success, exit worker:0 kept fails 1",
       "container_ended; worker:0 ended with success"}}},
    {"AShortTaskMayEndBeforeAnyoneHeardThatItRan",
     {{"job worker*1: gathering, all-registered, report worker:0 success",
       "attempt_ended job_stopping; verdict SUCCEEDED"}}},
    {"APreemptedTaskIsLostAndTheVerdictSaysPreempted",
     {{"running, report worker:0 preempted", "worker:0 is lost; verdict preempted"}}},
    {"ATaskThatSomebodyElseKilledHasFailed",
     {{"running, report worker:0 killed", "worker:0 is failed; verdict killed FAILED"}}},
};
TABLE_TEST(JobEndTest, kEnding, Script("board*1:sidecar ps*1:untracked worker*2 lost=0"));

}  // namespace
}  // namespace tony::am
