// Sidecars that run on while the gang starts again.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kOutliving[] = {
    {"TheGangStartsAgainWithoutIt",
     {{"running, report worker:0 fails 1", "orders tell worker:1#1"},
      {"report worker:1 killed", "attempt_ended restart_began gang_allocated"},
      {"register worker:0#2 worker:1#2",
       "attempt_registered generation_formed; worker:1#2 told start 2; board:0 told start 1; board:0 is running; "
       "board:0 attempt 1"}}},
    {"TheNextGenerationIsToldItsAddress",
     {{"begun, all-registered", "worker:0#2 told start 2; worker:0#2 reads ~\"board\":[\"node-board-0:4000\"]"}}},
    {"OneThatHasBeenToldToStartAndWasNotHeardOfRunsOn",
     {{"gathering, all-registered, heartbeat worker:0, report worker:0 fails 1, report worker:1 killed, register "
       "worker:0#2 worker:1#2",
       "worker:1#2 told start 2; board:0 told start 1"},
      {"heartbeat board:0", "board:0 is running"}}},
    {"WhenItEndsMeanwhileNobodyWaitsForIt",
     {{"begun, report board:0 fails 127", "attempt_ended; state GATHERING"},
      {"register worker:0#2 worker:1#2", "state RUNNING; board:0 state done"}}},
    {"WhenItIsLostMeanwhileItComesBackAlone",
     {{"begun, exit board:0", "attempt_ended container_ended restart_decided restart_began"},
      {"grant board:0#2, launched board:0#2, register board:0#2", "board:0#2 told start 1"},
      {"register worker:0#2 worker:1#2", "worker:0#2 told start 2; board:0#2 told start 1"}}},
    {"TheGangDoesNotWaitForItsNewContainer",
     {{"begun, exit board:0, register worker:0#2 worker:1#2", "state RUNNING"},
      {"grant board:0#2, launched board:0#2, register board:0#2", "board:0#2 told start 2"}}},
    {"BeforeTheGangHasFormedItIsAMemberOfIt",
     {{"gathering, register worker:0 worker:1", "worker:0 told none"}, {"register board:0", "worker:0 told start 1"}}},
    {"ARestartOfTheJobTakesItAlong",
     {{"job worker*2 board*1:sidecar:outlives pytorch job=1: running, report worker:0 fails 1", "board:0 told stop"},
      {"report worker:1 board:0 killed, exit board:0 worker:0 worker:1, all-granted, register worker:0#2 worker:1#2",
       "worker:0#2 told none"},
      {"all-registered", "board:0#2 told start 2"},
      {"all-run, report board:0#2 fails 1", "attempt_ended"}}},
    {"AGangThatMissesAContainerGivesBackWhatItHasAndTheSidecarsToo",
     {{"+yarn: running, report worker:0 fails 1, exit worker:1, pass 30s",
       "restart_decided attempt_ended; board:0 told stop"}}},
    {"NothingIsGivenBackWhileTheSidecarAloneMissesItsContainer",
     {{"+yarn: begun, exit board:0, pass 30s", "lacks restart_decided"}}},
    {"ANewMasterKnowsThatItLivesOn",
     {{"begun, master 2, register board:0 running 100, register worker:0#2 worker:1#2",
       "worker:1#2 told start 2; board:0 is running"}}},
};
TABLE_TEST(JobOutlivingTest, kOutliving,
           Script("worker*2 board*1:sidecar:outlives pytorch gang=2",
                  "running, report worker:0 fails 1, report worker:1 killed"));

}  // namespace
}  // namespace tony::am
