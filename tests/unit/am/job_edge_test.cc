// Where one time meets another, and who comes first of two.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kEdges[] = {
    // ---- silence
    {"SilenceBeginsAnewOnlyAfterARecordThatWasStale",
     {{"+fresh=2s: running, standstill {2s|2001ms}, renew", "deadline {+3s|+5s}"}}},
    {"SilenceCountsUpToTheLastMomentOfAFreshRecord",
     {{"running, standstill {5s|5001ms}, tick", "{attempt_suspected attempt_suspected|nothing}"}}},
    {"ASuspectThatIsHeardDoesNotPutOffTheLookAtOthers",
     {{"running, wait 4s, heartbeat worker:1, pass 1s, pass 0", "worker:0 suspected"},
      {"wait 1s, heartbeat worker:0", "attempt_heard; deadline +3s"}}},
    {"ARenewedAttemptDoesNotPutOffTheLookAtOthers",
     {{"+task=1: running, wait 3s, report worker:0 fails 1", "has restart_began; deadline +2s"}}},
    // Its container was read to be gone before it was given to the next attempt.
    {"WhatAnExecutorLeftOfOneAttemptIsNotTheEndOfTheNext",
     {{"+task=1: running, report worker:0 fails 1", "has restart_began"},
      {"kill, exit worker:0 unseen kept fails 1", "worker:0 outcome killed unseen"}}},
    // ---- stops
    {"ANewMasterGivesWhoIsBeingStoppedItsWholeGraceAgain",
     {{"job worker*2 standalone registration=24h suspect=20s grace=10s lost-after=60s fresh=5s: running, kill, wait "
       "10s, master 2, pass 14999ms",
       "nothing"},
      {"pass 1ms", "container_kill_ordered"}}},
    {"WhoIsBeingStoppedIsNotToldAgainOfTheSameGrace",
     {{"job worker*2 registration=24h suspect=5s grace=10s lost-after=60s fresh=5s pytorch gang=1: running, report "
       "worker:0 fails 1",
       "worker:1 told stop"},
      {"kill within 10s enough", "orders tell worker:0#1"}}},
    {"ACommandToGoOnIsNumberedAboveAStopAndBelowARelease",
     {{"+pytorch gang=1: running, report worker:0 fails 1, note worker:1, exit worker:1 kept killed",
       "worker:0 told next 2; worker:1 told release; worker:0 numbered above noted worker:1; worker:1 numbered above "
       "worker:0"}}},
    // ---- ends that come early
    {"OneThatRegisteredAndWasNotHeardToRunHasFailedOrWasLostAsItsEndSays",
     {{"+lost=0: gathering, all-registered", "worker:0 is registered"},
      {"{report worker:0 fails 1|exit worker:0}", "worker:0 is {failed|lost}"}}},
    {"AGangRestartsAlsoBeforeItHasFormed",
     {{"+lost=0 gang=1: start, grant worker:0{|, grant worker:1}", "state {ALLOCATING|GATHERING}"},
      {"exit worker:0", "restart gang{|; state RESTARTING}"},
      {"{|exit worker:1, }all-granted, all-registered", "state RUNNING"}}},
    // ---- of two or many
    {"OfTwoRestartsTheSoonerOneWakesTheMaster",
     {{"+suspect=20s fresh=20s task=3 backoff=1s/8s: running, report worker:0 worker:1 fails 1, register worker:0#2 "
       "worker:1#2, report worker:0#2 fails 1, wait 500ms, report worker:1#2 fails 1",
       "deadline +500ms"}}},
    {"FiveMissingTasksAreAllNamed",
     {{"job worker*5 registration=1s: gathering, pass 1s", "verdict says `$worker:3, worker:4`"}}},
};
TABLE_TEST(JobEdgeTest, kEdges,
           Script("worker*2 standalone registration=24h suspect=5s grace=10s lost-after=60s fresh=5s"));

}  // namespace
}  // namespace tony::am
