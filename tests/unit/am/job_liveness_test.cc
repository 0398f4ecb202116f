// Silence: an executor that is not heard is first suspected, then given up, and its container ended.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kSilent[] = {
    {"ASilentExecutorIsSuspectedAndNothingElseHappens",
     {{"running, wait 1s, heartbeat worker:1, pass 3999ms", "nothing"},
      {"pass 1ms", "attempt_suspected; no orders; worker:0 suspected; worker:1 heard; worker:0 is running"}}},
    {"EveryCallIsASignOfLife", {{"running, wait 4999ms, heartbeat worker:0, await worker:1, pass 4999ms", "nothing"}}},
    {"ASuspectThatIsHeardAgainIsCleared",
     {{"running, pass 5s", "worker:0 suspected"}, {"heartbeat worker:0", "attempt_heard; worker:0 heard"}}},
    {"ASuspectsReportIsTaken",
     {{"running, pass 5s, report worker:0 success", "attempt_heard attempt_ended; worker:0 heard"}}},
    {"ACallThatIsRefusedClearsNobody",
     {{"running, pass 5s, impostor worker:0 container=another",
       "refused stale_attempt; nothing; worker:0 suspected; deadline +0"}}},
    {"AfterALongSilenceTheContainerIsEndedBeforeAnythingIsSaidOfTheAttempt",
     {{"begun", "container_kill_ordered; orders kill c-worker-0; worker:0 is running; verdict none"}}},
    {"ASilentAttemptIsLostWhenItsContainerIsGone",
     {{"begun, exit worker:0",
       "attempt_ended container_ended job_stopping; worker:0 is lost; worker:0 heard; verdict node_lost of worker:0 "
       "says `~no heartbeat for 60.0 s`"}}},
    {"TheOutcomeThatASilentExecutorKeptCounts",
     {{"begun, exit worker:0 kept {fails 3|success}", "verdict {exit 3|none; worker:0 is succeeded}"}}},
    {"WhenNobodySaysThatTheContainerIsGoneTheAttemptIsGivenUp",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms",
       "attempt_ended job_stopping; worker:0 is lost; verdict node_lost says `~nobody can say that it ended`"}}},
    // What should end it has not reached it, and it believes in its master until that is silent for long.
    {"OneThatIsHeardMeanwhileIsNotGivenUpBeforeItHasBeenSilentAgain",
     {{"begun, wait 14999ms, await worker:0, wait 59999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "attempt_ended job_stopping"}}},
    {"ANewMasterGivesTheSchedulerTheWholeTimeAgain",
     {{"begun, standstill 30s, master 2", "epoch_began; orders kill c-worker-0"},
      {"wait 14999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "attempt_ended job_stopping"}}},
    {"AKillWhileASilentContainerIsBeingEndedWaitsForThat",
     {{"begun, kill enough, report worker:1 killed, exit worker:1", "state STOPPING"},
      {"exit worker:0", "state KILLED; worker:0 is killed"}}},
    {"AReportOfASilentAttemptThatComesBeforeItsEndCounts",
     {{"begun, report worker:0 success", "attempt_heard attempt_ended"},
      {"exit worker:0", "container_ended; verdict none"}}},
    {"ALostAttemptThatStillWorksIsRefusedSoThatItEnds",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 0, pass 1ms", "worker:0 is lost"},
      {"heartbeat worker:0", "refused stale_attempt"},
      {"register worker:0 running 100", "refused stale_attempt; nothing"}}},
    {"ALostAttemptsLateOutcomeIsAcknowledgedAndChangesNothing",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 1ms, register worker:0 ended", "worker:0 is lost"},
      {"report worker:0 success", "nothing; worker:0 told release; verdict node_lost of worker:0"}}},
    {"ARegisteredExecutorIsWatchedBeforeItsTaskRuns",
     {{"gathering, register worker:0", "deadline +5s"}, {"deadline", "attempt_suspected"}}},
    {"WhoHasNotRegisteredIsNotWatched", {{"gathering, launched worker:0, pass 60s", "nothing"}}},
    {"WhoHasBeenToldToStopIsMeasuredByTheGraceNotByHeartbeats",
     {{"running, kill within 1h slowly, pass 60s", "nothing; deadline later"}}},
    {"ANewMasterStartsCountingAnew",
     {{"running, wait 120s, master 2, pass 4999ms", "nothing"}, {"pass 1ms", "attempt_suspected attempt_suspected"}}},
    // Executors could not know that it ruled; that they were not heard is its own fault.
    {"AMasterThatDidNotRenewCallsNobodySilent",
     {{"running, standstill 120s, pass 0", "nothing"},
      {"wait 1ms, pass 4999ms", "nothing"},
      {"pass 1ms", "attempt_suspected attempt_suspected"}}},
    {"ASuspicionIsRememberedByTheNextMasterAndTheSilenceCountedAnew",
     {{"running, pass 5s, master 2", "worker:0 suspected"},
      {"heartbeat worker:1, wait 59999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "container_kill_ordered"}}},
    // ---- where the scheduler sees each process
    {"WhereEndsAreConfirmedSilenceAloneGivesNobodyUp",
     {{"confirming-start, all-granted, all-registered, all-run, pass 5s, pass 55s", "also kill c-worker-0"},
      {"pass 75s", "lacks attempt_ended"},
      {"exit worker:0", "has attempt_ended"}}},
    {"NothingBeginsBesideAProcessThatCannotBeEnded",
     {{"job worker*2 gang=3: confirming-start, all-up, exit worker:0 unseen left says `process 7 (sleep) of root "
       "cannot be ended by alice` kept fails 3",
       "verdict user_error exit 3; worker:0 outcome user_error says `~process 7 (sleep) of root`"}}},
    {"ARestartThatWouldBeginBesideOneEndsTheJob",
     {{"job worker*2 gang=3: confirming-start, all-up, report worker:0 fails 1", "verdict none"},
      {"exit worker:1 unseen left says `process 7 (sleep) of root cannot be ended by alice`",
       "verdict infra says `worker:1 cannot start again: process 7 (sleep) of root cannot be ended by alice`"}}},
    {"ASuccessIsOneWhateverItLeaves",
     {{"job worker*2 gang=3: confirming-start, all-up, exit worker:0 unseen left says `process 7 (sleep) of root "
       "cannot be ended by alice` kept success",
       "verdict none; worker:0 outcome success"}}},
};
TABLE_TEST(JobLivenessTest, kSilent,
           Script("worker*2 suspect=5s lost-after=60s registration=24h lost=0",
                  "running, pass 5s, heartbeat worker:1, wait 55s, heartbeat worker:1, pass 0"));

}  // namespace
}  // namespace tony::am
