// Roles of which some tasks may fail, or are not needed.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kCompleting[] = {
    {"AFailureThatIsToleratedIsJournalledAndItsExecutorLetGo",
     {{"running, report shard:2 fails 3",
       "attempt_ended failure_tolerated; shard:2 told release; shard:1 told start 1; state RUNNING; tolerated 1"}}},
    {"OneFailureTooManyFailsTheJobAndTheFirstIsNamed",
     {{"running, report shard:2 fails 3, report shard:0 fails 4",
       "verdict FAILED of shard:2 exit 3 says `~2 of 4 tasks of role shard have failed "
       "(tony.shard.min-succeeded=3)`"}}},
    {"WhenEnoughHaveSucceededTheRestOfTheRoleIsStoppedAndOthersRunOn",
     {{"running, report shard:0 shard:1 shard:3 success",
       "attempt_ended role_finished; shard:2 told stop; collector:0 told start 1; progress 80%"},
      {"report shard:2 killed",
       "attempt_ended; shard:2 is killed; shard:2 outcome says `~3 of 4 tasks of role shard have succeeded`"},
      {"report collector:0 success",
       "verdict SUCCEEDED says `4 of 5 tracked tasks succeeded; 1 was not needed`; tolerated 0"}}},
    {"OfAFinishedRoleNoFailureMattersAndNothingStartsAgain",
     {{"+task=5: running, report shard:0 shard:1 shard:3 success, report shard:2 fails 1",
       "attempt_ended; state RUNNING; shard:2 told release"}}},
    {"ATaskThatWaitsForItsRestartIsNotRestartedOnceItsRoleIsFinished",
     {{"+task=5 backoff=5s/5s: running, report shard:2 fails 1, register shard:2#2, heartbeat shard:2#2, report "
       "shard:2#2 fails 1",
       "shard:2 state backoff"},
      {"report shard:0 shard:1 shard:3 success", "shard:2 state done; shard:2#2 told release"},
      {"pass 60s", "lacks restart_began"}}},
    {"WhoHasNoContainerYetIsWithdrawnWhenItsRoleIsFinished",
     {{"job shard*3:succeeds=2 worker*1 fcfs: start, grant shard:0, register shard:0, heartbeat shard:0, grant "
       "shard:1, register shard:1, heartbeat shard:1, report shard:0 shard:1 success",
       "attempt_ended role_finished attempt_ended; shard:2 state done; state RUNNING"}}},
    {"WhoHasNotSpokenYetIsEndedWithItsContainerAndThatIsNoFailure",
     {{"job shard*2:succeeds=1 worker*1 fcfs: start, all-granted, register shard:0, heartbeat shard:0, report shard:0 "
       "success, exit shard:1 kept infra says `its executor was terminated`",
       "shard:1 is killed; shard:1 outcome killed says `~1 of 2 tasks of role shard have succeeded`"}}},
    {"AFailureIsToleratedOnlyWhenItsRestartsAreUsedUp",
     {{"+task=1: running, report shard:2 fails 1", "has restart_decided"},
      {"register shard:2#2, heartbeat shard:2#2, report shard:2#2 fails 1", "has failure_tolerated"}}},
    {"ARestartOfTheGangStartsAgainWhoHadFailedOrWasNotNeeded",
     {{"job collector*1 shard*4:succeeds=2 standalone lost=0 gang=1: running, report shard:2 oom, report shard:0 "
       "shard:1 success",
       "shard:3 told stop"},
      {"report shard:3 killed, report collector:0 fails 1",
       "tolerated 0; progress 0%; shard:0 shard:1 shard:2 shard:3 attempt 1"},
      {"exit shard:0 shard:1 shard:2 shard:3, all-granted, all-registered, all-run",
       "shard:3 attempt 2; shard:3#2 told start 2"}}},
    {"TheLastToleratedFailureCompletesTheJob",
     {{"job shard*2:fails=2 standalone: running, report shard:0 success, report shard:1 fails 2",
       "attempt_ended failure_tolerated job_stopping; verdict SUCCEEDED says `1 of 2 tracked tasks succeeded; 1 task "
       "failed: shard:1 failed on node-shard-1: exit code 2 (user_error)`"}}},
    {"AToleratedFailureOfACollectiveSettlesFirst",
     {{"job worker*3:fails=3 pytorch settle=300ms: running, report worker:1 fails 1", "attempt_ended"},
      {"pass 300ms", "failure_tolerated"},
      {"pass 1s", "nothing"}}},
    {"ByTonysRuleAWorkersFailureIsToleratedAndTheChiefsIsNot",
     {{"job worker*3 standalone tonys-rule: running, report worker:1 fails 1", "has failure_tolerated"},
      {"report worker:0 fails 2", "verdict of worker:0 says `~; before it worker:1 failed`"}}},
    {"ASidecarMayBeToldToCount",
     {{"job board*1:sidecar:fails=1 worker*1 standalone: running, report board:0 fails 1", "verdict of board:0"}}},
    {"ANewMasterKnowsWhoWasToleratedAndWhatIsFinished",
     {{"job collector*1 shard*4:succeeds=2 standalone: running, report shard:2 fails 3, report shard:0 shard:1 "
       "success, master 2",
       "tolerated 1; shard:3 told stop"},
      {"report shard:3 killed, report collector:0 success",
       "verdict says `~3 of 5 tracked tasks succeeded; 1 task failed: shard:2`"}}},
    {"BeforeTheGangHasFormedNobodyIsSpared", {{"+lost=0: gathering, exit shard:2", "verdict of shard:2"}}},
};
TABLE_TEST(JobCompletionTest, kCompleting, Script("collector*1 shard*4:succeeds=3 standalone"));

}  // namespace
}  // namespace tony::am
