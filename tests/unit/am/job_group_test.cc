// Roles that run on after a group of others has ended.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kGrouped[] = {
    {"ARoleThatRunsOnForTooLongFailsTheJob",
     {{"running, wait 50s, end chief:0 success, pass 9999ms", "nothing"},
      {"deadline",
       "job_stopping; verdict timeout says `~role worker ran on for longer than 10.0 s after chief had ended "
       "(tony.application.dependency.worker.timeout.after.A)`"}}},
    {"OneThatIsIgnoredIsNotWaitedFor",
     {{"job chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, pass 10s",
       "role_left job_stopping; verdict SUCCEEDED; worker:1 told stop"}}},
    {"OthersAreWaitedForAllTheSame",
     {{"job evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, end "
       "worker:0 success, pass 10s",
       "role_left; worker:1 told start 1"},
      {"report evaluator:0 success", "has job_stopping; verdict SUCCEEDED"}}},
    {"OneThatFailsAfterItWasIgnoredFailsTheJobStill",
     {{"job lost=0 evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, "
       "pass 10s, report worker:1 fails 1",
       "verdict FAILED"}}},
    {"NothingCountsWhileOneOfTheGroupRuns",
     {{"+worker*2:after=chief+evaluator/10s evaluator*1: running, end chief:0 success, pass 100s", "nothing"},
      {"end evaluator:0 success, pass 10s", "job_stopping"}}},
    // TonY's second key of a role replaced the first.
    {"OfSeveralRulesOfARoleEachCounts",
     {{"+worker*2:after=chief/10s:after=evaluator/20s evaluator*1: running, end {chief|evaluator}:0 success, pass "
       "{9999ms|19999ms}",
       "nothing"},
      {"pass 1ms", "job_stopping"}}},
    {"ATaskThatHasStartedAgainHasItsWholeTime",
     {{"job task=1 standalone chief*1 worker*2:after=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, "
       "pass 5s, report worker:0 fails 3, register worker:0#2, heartbeat worker:0#2, pass 9999ms",
       "nothing"},
      {"pass 1ms", "job_stopping"}}},
    {"TheNextMasterKnowsWhomTheJobDoesNotWaitFor",
     {{"job evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, pass "
       "10s, master 2, report evaluator:0 success",
       "has job_stopping"}}},
    {"WhoEndsInTimeChangesNothing",
     {{"running, end chief:0 success, pass 5s, end worker:0 success, report worker:1 success",
       "has job_stopping; verdict says `all tracked tasks succeeded`"}}},
};
TABLE_TEST(JobGroupTest, kGrouped, Script("chief*1 worker*2:after=chief/10s suspect=1h lost-after=2h"));

}  // namespace
}  // namespace tony::am
