// Restarts of the gang and of the job: who is told what and when, and what stays.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kGangRestarting[] = {
    {"AGangStopsWhatRunsAndHoldsEveryExecutor",
     {{"+gang=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; orders tell board:0#1, tell worker:1#1; worker:0 told none; worker:1 told stop; "
       "worker:1 grace 10s; state RESTARTING; board:0 worker:0 worker:1 state backoff"},
      {"report worker:1 killed", "attempt_ended; worker:1 told none"}}},
    {"AGangGoesOnInTheSameContainersInTheNextGeneration",
     {{"+gang=1: running, report worker:0 fails 1, report worker:1 killed, report board:0 killed",
       "attempt_ended restart_began gang_allocated; orders tell board:0#1, tell worker:0#1, tell worker:1#1; worker:1 "
       "told next 2"},
      {"register worker:0#2 worker:1#2", "worker:0#2 told none"},
      {"register board:0#2",
       "attempt_registered generation_formed; worker:0#2 told start 2; generation 2; state RUNNING; restarts 1; "
       "because `worker:0 failed on node-worker-0: exit code 1 (user_error)`"}}},
    {"WhoLosesItsContainerMeanwhileGetsANewOneAndTheOthersWait",
     {{"+gang=1: running, report worker:0 fails 1, exit worker:1, report board:0 killed",
       "attempt_ended restart_began; orders tell board:0#1, tell worker:0#1, tell worker:1#1, request worker:1#2; "
       "worker:0 told next 2; worker:1 told release; state ALLOCATING"},
      {"all-granted, all-registered", "worker:1#2 worker:0#2 told start 2"}}},
    {"AFailureWhileItRestartsIsNeitherJudgedNorCharged",
     {{"+gang=1: running, report worker:0 fails 1, report worker:1 fails 2", "attempt_ended"},
      {"report board:0 killed", "restarts 1; worker:1 told next 2"}}},
    {"WhenTheBudgetIsUsedUpTheJobFailsAndTheVerdictSaysSo",
     {{"job worker*1 pytorch gang=1: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 3",
       "attempt_ended job_stopping; verdict of worker:0#2 says `~exit code 3 (user_error); restarts used up: gang 1 of "
       "1`; worker:0#2 told release"}}},
    {"ATaskThatHadSucceededRunsAgainWithItsGangAndCountsOnce",
     {{"job worker*2 pytorch gang=1: running, report worker:0 success, exit worker:0, report worker:1 fails 1",
       "attempt_ended restart_decided restart_began; orders tell worker:0#1, tell worker:1#1, tell worker:0#1, request "
       "worker:0#2"},
      {"all-granted, all-registered, all-run", "generation 2"},
      {"report worker:1#2 success", "verdict none"},
      {"report worker:0#2 success", "verdict SUCCEEDED"}}},
    // Its executor may have left already; what it was told last cannot be taken back.
    {"WhoWasReleasedIsNotHeldAgain",
     {{"job worker*2 pytorch gang=1: running, report worker:0 success", "worker:0 told release"},
      {"report worker:1 fails 1", "attempt_ended restart_decided; worker:0 told release"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    // ---- the job
    {"ARestartOfTheJobReleasesEveryoneAndAsksForNewContainers",
     {{"+job=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; worker:0 told release; worker:1 told stop"},
      {"report worker:1 board:0 killed", "worker:1 told release"},
      {"exit worker:0 worker:1 board:0", "container_ended restart_began; also request board:0#2 worker:0#2 worker:1#2"},
      {"all-granted, all-registered", "worker:0#2 told start 2; worker:0 host node-worker-0-2"}}},
    {"CommandNumbersOfAnAttemptGrow",
     {{"+gang=2: running, note worker:1, report worker:0 fails 1", "worker:1 numbered above noted"},
      {"note worker:1, report worker:1 killed", "worker:1 numbered 0"},
      {"report board:0 killed", "worker:1 numbered above noted; worker:1#2 numbered 0"},
      {"all-registered", "worker:1#2 numbered above 0"}}},
};
TABLE_TEST(JobGangRestartTest, kGangRestarting, Script("worker*2 board*1:sidecar pytorch"));

}  // namespace
}  // namespace tony::am
