// The end of a job: how many tasks of a role must succeed, how many may fail, and the text of the verdict.
#include "tests/e2e/script.h"

namespace tony {
namespace {

// %S stands for the beginning of the submit of a job without a gang, and %m for the least memory.
const TestRow kCompletion[] = {
    {"AJobSucceedsAndStopsItsRunningTasksOnceItsOnlyRoleHasReachedMinSucceeded",
     {{"& %S `case $TASK_INDEX in 1|2) exit 3;; 7) exec sleep 600;; esac; %H` tony.shard.instances=8 "
       "tony.shard.memory=%m tony.shard.min-succeeded=5",
       ""},
      {"until status %0 --json", "/tolerated_failures=2"},
      {"go", ""},
      {"end",
       "out~SUCCEEDED && out~despite failures: 5 of 8 tracked tasks succeeded; 2 tasks failed, the first: shard: "
       "&& "
       "err~2 tasks have failed, and the job continues && err!warning && verdict=success"},
      {"status %J --json", "/tolerated_failures=2 && /verdict/message~exit code 3 (user_error); 1 was not needed"},
      {"history %J", "out~despite failures: 5 of 8"},
      {"history", "out~5 of 8 tracked tasks succeeded"}}},
    {"AJobFailsOnceTheNumberOfFailedTasksOfARoleReachesMinFailed",
     {{"%S `i=$TASK_INDEX; until [ $i = 0 ] || [ -e %B/failed-$((i-1)) ]; do sleep 0.02; done; [ $i = 2 ] && exec "
       "sleep 600; touch %B/failed-$i; exit $((i+10))` tony.shard.instances=3 tony.shard.memory=%m "
       "tony.shard.min-failed=2",
       "1 && out~2 of 3 tasks of role shard have failed (tony.shard.min-failed=2) && verdict=user_error"}}},
    {"RemainingTasksOfARoleAreStoppedOnceMinSucceededOfTheRoleIsReached",
     {{"& %S `case $JOB_NAME-$TASK_INDEX in shard-0) exit 0;; shard-1) exec sleep 600;; *) until [ -e %B/go ]; do "
       "sleep "
       "0.02; done;; esac` tony.shard.instances=2 tony.shard.memory=%m tony.worker.instances=1 tony.worker.memory=%m "
       "tony.shard.min-succeeded=1",
       ""},
      {"until status %0 --json", "/tasks/1/attempt_state=killed"},
      {"status %J --json",
       "/state=RUNNING && /tasks/1/outcome/message~1 of 2 tasks of role shard have succeeded "
       "(tony.shard.min-succeeded=1)"},
      {"go", ""},
      {"end", "out!in spite of"},
      {"left", ""}}},
    {"TheCompletionRuleTonyToleratesAFailedTaskThatIsNotTheChief",
     {{"%S `exit $TASK_INDEX` tony.worker.instances=2 tony.worker.memory=%m tony.application.completion-rule=tony",
       "out~1 of 2 tracked tasks succeeded; 1 task failed: worker:1 failed"},
      {"%S `exit $((1-TASK_INDEX))` tony.worker.instances=2 tony.worker.memory=%m "
       "tony.application.completion-rule=tony",
       "1 && out~first cause: worker:0 failed"},  // worker 0 is the chief
      {"left", ""}}},
    {"ThePlanCommandWarnsOnceIfAJobReliesOnTonysCompletionRule",
     {{"plan -executes true tony.application.framework=standalone tony.application.distributed-mode=FCFS "
       "tony.worker.instances=2 tony.application.fail-on-worker-failure-enabled=false "
       "tony.application.stop-on-failure-jobtypes=chief",
       "line && err~in LinkedIn's TonY, a task of role worker may fail as long as another task succeeds"},
      {"plan --explain -executes true tony.application.framework=standalone tony.application.distributed-mode=FCFS "
       "tony.worker.instances=2 tony.worker.min-succeeded=1",
       "out~tony.worker.min-succeeded = 1 && out~tony.application.completion-rule = strict  (default) && out~role "
       "worker "
       "(tracked): complete when 1 of 2 tasks have succeeded; 2 failures fail the job"}}},
};
TABLE_TEST(CompletionTest, kCompletion, [](const TestRow& row) {
  RunScriptWith(
      {{"%S", "submit tony.application.framework=standalone tony.application.distributed-mode=FCFS -executes"},
       {"%m", LittleMemory().substr(19)}},
      row);
});

}  // namespace
}  // namespace tony
