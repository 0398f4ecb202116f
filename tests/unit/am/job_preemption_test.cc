// A scheduler that takes containers away, with notice.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kPreempting[] = {
    {"ANoticeOfPreemptionStopsTheTaskInTheTimeThereIs",
     {{"running, preempt worker:0 5s",
       "attempt_stopping; orders tell worker:0#1; worker:0 told stop; worker:0 grace 4s; worker:0 because preempted; "
       "worker:1 told start 1"},
      {"kill", "worker:1 because"}}},
    {"APreemptedTaskStartsAgainElsewhereWithoutACharge",
     {{"running, preempt worker:0 5s, report worker:0 killed",
       "attempt_ended restart_decided; restart free; worker:0 outcome preempted by TERM; worker:0 told release"},
      {"exit worker:0", "also request worker:0#2"}}},
    {"ATaskThatFinishesInTheTimeItWasGivenHasSucceeded",
     {{"running, preempt worker:0 5s, report worker:0 success", "attempt_ended; worker:0 is succeeded"}}},
    {"ASecondNoticeOrOneOfAnEndedAttemptChangesNothing",
     {{"running, preempt worker:0 5s, report worker:1 success, preempt worker:0 2s", "nothing"},
      {"preempt worker:1 2s", "nothing"},
      {"kill, preempt worker:0 1s", "nothing"}}},
    {"APreemptedExecutorThatHasNotRegisteredIsEndedWithItsContainer",
     {{"gathering, preempt worker:0 5s", "orders tell worker:0#1, term c-worker-0"},
      {"exit worker:0", "also request worker:0#2"},
      {"all-granted, all-registered", "worker:0#2 told start 1"}}},
    {"APreemptedTaskOfAGangThatFailsMeanwhileGetsANewContainerLikeThat",
     {{"job worker*2 pytorch gang=2: running, preempt worker:0 5s, report worker:1 fails 1",
       "attempt_ended restart_decided; worker:0 grace 4s"},
      {"report worker:0 killed", "worker:0 told release"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2; restarts 1"}}},
    {"AContainerThatWaitsForItsNextAttemptIsGivenUp",
     {{"job worker*2 pytorch gang=2 backoff=3s/9s: running, report worker:0 fails 1, preempt worker:0 5s",
       "orders kill c-worker-0"},
      {"report worker:1 killed", "attempt_ended"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    {"AContainerThatIsTakenAwayWhileItsTaskIsStoppedForARestartIsNotUsedAgain",
     {{"job worker*2 pytorch gang=2: running, report worker:0 fails 1, preempt worker:1 5s", "nothing"},
      {"report worker:1 killed", "also kill c-worker-1"},
      {"exit worker:1", "also request worker:1#2; worker:0 told next 2"}}},
    {"ATaskThatReportsLateFromAContainerThatIsBeingKilledIsHeard",
     {{"job worker*2 pytorch gang=2: running, report worker:0 fails 1, preempt worker:1 5s, deadline",
       "has container_kill_ordered"},
      {"report worker:1 killed", "attempt_ended"},
      {"exit worker:1", "also request worker:1#2"}}},
    {"AContainerThatIsTakenAwayFromATaskThatFailsIsNotUsedAgain",
     {{"job worker*2 pytorch gang=2: running, preempt worker:0 5s, report worker:0 fails 1",
       "attempt_ended container_kill_ordered restart_decided"},
      {"report worker:1 killed, exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    {"ANoticeShorterThanAReportTakesGivesNoGrace", {{"running, preempt worker:0 300ms", "worker:0 grace 0"}}},
};
TABLE_TEST(JobPreemptionTest, kPreempting, Script("worker*2 standalone"));

}  // namespace
}  // namespace tony::am
