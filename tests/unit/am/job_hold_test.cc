// Containers on a cluster in which nothing runs yet, or again: they are not held for ever.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kHeld[] = {
    {"AGangThatWaitsTooLongForTheRestGivesBackWhatItHas",
     {{"begun, pass 29999ms", "lacks restart_decided; deadline due"},
      {"pass 1ms", "restart job free; also withdraw worker:1#2; worker:0#2 told stop"},
      {"report worker:0#2 killed, register worker:2#2, report worker:2#2 killed", "worker:0#2 told release"},
      {"exit worker:0#2 worker:2#2", "also request worker:0#3 worker:1#3 worker:2#3"},
      {"all-granted, all-registered",
       "worker:0#3 told start 2; restarts 2; because `~worker:1 got no container for 30.0 s (tony.yarn.gang-hold)`"}}},
    // Meanwhile a master without its lease could be told of no container.
    {"AGapOfTheLeaseIsNoneOfTheWait",
     {{"begun, standstill 29999ms, renew, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"}}},
    {"AStartingGangThatLosesOneGivesBackTheOthersToo",
     {{"gathering, register worker:0, exit worker:1, pass 30s", "has restart_decided"}}},
    {"AContainerThatComesBeginsTheWaitAnew",
     {{"start, grant worker:0, pass 29999ms, grant worker:1, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"}}},
    {"WhoHasNothingHasNothingToGiveBack", {{"start, pass 300s", "lacks restart_decided"}}},
    {"WhoEachRunAloneKeepWhatTheyHave",
     {{"job worker*2 standalone yarn hold=30s{| fcfs}: running, exit worker:1, pass 30s", "lacks restart_decided"}}},
    {"OnOneMachineAndWithoutALimitNothingIsGivenBack",
     {{"job worker*3 pytorch gang=2 {hold=30s|yarn hold=0}: begun, pass 30s", "lacks restart_decided"}}},
    // Else two gangs that lend each other a node would use up what is for lost nodes.
    {"ContainersThatAreGivenBackTakeFromNoBudget",
     {{"job worker*3 pytorch gang=2 lost=1 yarn hold=30s: begun, pass 30s, exit worker:0#2 worker:2#2, all-granted, "
       "all-registered, all-run, exit worker:1#3",
       "restart free"}}},
    {"ANewMasterBeginsTheWaitAnewAndJudgesTheSame",
     {{"begun, pass 29999ms, master 2, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"},
      {"master 3", "worker:0#2 told stop"}}},
    {"ABackOffAboveTheLimitIsNotWaitedForInContainers",
     {{"job worker*3 pytorch gang=2 backoff=30001ms/60s yarn hold=30s: running, report worker:0 worker:1 worker:2 "
       "fails 1",
       "worker:0 told next 2"},
      {"all-registered, all-run, report worker:0#2 fails 1", "worker:0#2 told release"},
      {"report worker:1#2 worker:2#2 killed, exit worker:0#2 worker:1#2 worker:2#2, pass 30001ms",
       "also request worker:0#3 worker:1#3 worker:2#3"}}},
};
TABLE_TEST(JobHoldTest, kHeld,
           Script("worker*3 pytorch gang=2 yarn hold=30s",
                  "running, report worker:0 fails 1, exit worker:1, report worker:2 killed, register worker:0#2"));

}  // namespace
}  // namespace tony::am
