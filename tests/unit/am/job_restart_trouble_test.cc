// What may come between: kills, limits, lost containers, silence, preemption, executors of the past.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kTroubled[] = {
    // ---- kills and limits
    {"AKillWhileAGangRestartsReleasesWhoIsHeldAndHurriesTheOthers",
     {{"begun, kill within 100ms enough",
       "job_stopping; orders tell worker:0#1, tell worker:1#1; worker:0 told release; worker:1 grace 100ms"},
      {"report worker:1 killed", "worker:1 told release"},
      {"exit worker:0 worker:1", "state KILLED; worker:0 worker:1 state done"}}},
    {"AKillDuringABackOffReleasesWhoWaitsForIt",
     {{"job worker*2 standalone task=2: begun, register worker:0#2, report worker:0#2 fails 1, kill enough",
       "worker:0#2 told release; worker:1 told stop; worker:0 state done"},
      {"report worker:1 killed, exit worker:0#2 worker:1", "state KILLED; deadline none"}}},
    {"AKillAfterItBeganStopsRenewedExecutorsByTheirCommandAlone",
     {{"begun, report worker:1 killed", "worker:0 told next 2"},
      {"kill enough", "orders tell worker:0#2, tell worker:1#2; worker:0 told next 2"},
      {"register worker:0#2", "worker:0#2 told stop"},
      {"report worker:0#2 killed", "worker:0#2 told release"}}},
    {"AnExecutorThatIsHeldAndDoesNotLeaveAfterAKillIsEnded",
     {{"job worker*2 standalone task=2: begun, register worker:0#2, report worker:0#2 fails 1, kill enough, report "
       "worker:1 killed, exit worker:1, deadline",
       "orders kill c-worker-0"}}},
    {"TheTimeLimitOfTheJobCountsWhileItRestarts",
     {{"+timeout=5s: begun, pass 5s", "job_stopping; verdict timeout; worker:0 told release"}}},
    {"ARestartedAttemptHasTheWholeTimeToRegister",
     {{"+registration=20s: begun, wait 20s, report worker:1 killed, register worker:0#2, wait 19999ms, heartbeat "
       "worker:0#2 waiting 0, pass 0",
       "lacks job_stopping"},
      {"pass 1ms", "job_stopping; verdict says `~missing worker:1`"}}},
    {"WhoDoesNotStopInItsGraceIsEndedAndTheRestartGoesOn",
     {{"begun, pass 10s", "no orders"},
      {"deadline", "orders kill c-worker-1"},
      {"exit worker:1", "attempt_ended container_ended restart_began; also request worker:1#2; worker:0 told next 2"}}},
    // ---- losses
    {"ALostContainerDelaysTheRestartUntilItIsGone",
     {{"job worker*2 standalone: running, report worker:0 infra", "attempt_ended restart_decided"},
      {"wait 1s, exit worker:0", "container_ended restart_began"}}},
    {"AContainerThatNobodySaysIsGoneIsNotWaitedForLongerThanItTakesToBeSure",
     {{"job worker*2 standalone: running, report worker:0 infra, wait 5s, heartbeat worker:1, pass 0",
       "orders kill c-worker-0"},
      {"wait 9999ms, heartbeat worker:1, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms", "restart_began; also request worker:0#2"}}},
    {"ANodeThatFallsSilentIsReplacedWithoutACharge",
     {{"job worker*2 standalone: running, pass 5s, heartbeat worker:1, wait 55s, heartbeat worker:1, pass 0",
       "orders kill c-worker-0"},
      {"exit worker:0",
       "attempt_ended container_ended restart_decided restart_began; restart task free; also request worker:0#2"}}},
    {"ARenewedExecutorThatIsNeverHeardIsSuspectedAndLost",
     {{"job worker*2 standalone task=1: begun", "worker:0 told next 2"},
      {"wait 5s, heartbeat worker:1, pass 0", "attempt_suspected; worker:0 suspected"},
      {"wait 55s, heartbeat worker:1, pass 0", "orders kill c-worker-0"},
      {"wait 15s, heartbeat worker:1, pass 0",
       "attempt_ended restart_decided restart_began; restart free; worker:0#2 is lost"}}},
    {"AStragglerOfAReplacedAttemptIsRefusedWhateverItCalls",
     {{"job worker*2 standalone: running, exit worker:0, grant worker:0#2, {register worker:0 running 100|heartbeat "
       "worker:0|await worker:0|report worker:0 success}",
       "refused stale_attempt; nothing"}}},
    {"LateCallsOfTheAttemptBeforeInTheSameExecutorChangeNothing",
     {{"job worker*2 standalone task=1: begun, register worker:0#2, report worker:0 fails 1, await worker:0",
       "worker:0 told next 2"},
      {"heartbeat worker:0", "refused; worker:0#2 is registered"}}},
    {"TheAttemptToComeIsUnknownUntilItIsMade",
     {{"begun, impostor worker:0 attempt=worker:0#2", "refused unknown_attempt"}}},
    // Its end is told by the scheduler alone; the class that it names decides.
    {"AnEndBeforeTheRegistrationIsALossWhateverItsReason",
     {{"job worker*2 standalone: gathering, exit worker:0 unseen because oom", "worker:0 is lost; verdict oom"}}},
    {"AnEndForWantOfMemoryNamesWhatTheJobAskedFor",
     {{"job worker*2 standalone: gathering, register worker:0, exit worker:0 unseen because oom says `out of memory: "
       "the limit was reached`",
       "verdict oom says `~out of memory: the limit was reached; tony.worker.memory is 2048 MB`"}}},
    {"WhatTheSchedulerKnowsOfAnEndIsBelievedWhereNobodySawMore",
     {{"job worker*2 standalone lost=0: running, exit worker:0 unseen because {node_lost|preempted kept "
       "killed|preempted kept fails 1|node_lost kept success}",
       "worker:0 outcome {node_lost|preempted|user_error|success}"}}},
    // ---- silence while it is being stopped
    {"ARestartDoesNotWaitForEverForANodeThatIsGone",
     {{"begun, wait 10s, deadline", "also kill c-worker-1; deadline +60s"},
      {"deadline", "attempt_ended restart_began"}}},
};
TABLE_TEST(JobRestartTroubleTest, kTroubled, Script("worker*2 pytorch gang=2", "running, report worker:0 fails 1"));

}  // namespace
}  // namespace tony::am
