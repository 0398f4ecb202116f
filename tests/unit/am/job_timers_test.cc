// Limits of the whole job, and when the core wants to be woken for them.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kLimited[] = {
    {"ARegistrationTimeoutNamesWhoIsMissingAndTheKey",
     {{"gathering, register worker:1, pass 29999ms", "nothing"},
      {"pass 1ms",
       "job_stopping; verdict FAILED timeout says `~missing worker:0, worker:2`; verdict says `~30.0 s`; verdict says "
       "`~tony.container.registration.timeout`"}}},
    {"ManyMissingTasksAreCountedNotListed",
     {{"job worker*100 registration=30s: gathering, pass 30s", "verdict says `~worker:4 and 95 more`"}}},
    {"WaitingForAContainerIsNotLateRegistration",
     {{"job worker*2 registration=30s suspect=24h lost-after=24h: start, grant worker:0, register worker:0, pass 300s",
       "lacks job_stopping"},
      {"grant worker:1, pass 29999ms", "lacks job_stopping"},
      {"pass 1ms", "has job_stopping; verdict says `~missing worker:1`"}}},
    {"ARegistryTimeoutCountsFromTheContainersStartAndNamesTheTask",
     {{"job worker*2 registry=2s: gathering, pass 5s", "verdict none"},
      {"launched worker:1, pass 1999ms", "lacks job_stopping"},
      {"pass 1ms",
       "has job_stopping; verdict FAILED timeout says `worker:1 did not register within 2.0 s of its container's start "
       "(tony.task.executor.registry-timeout-sec)`"}}},
    {"WhoHasRegisteredHasKeptTheRegistryTimeout",
     {{"job worker*1 registry=2s: gathering, launched worker:0, register worker:0, pass 4s", "lacks job_stopping"}}},
    {"OfTwoRegistrationLimitsTheNearerOneHolds",
     {{"job worker*1 registration=1s registry=2s: gathering, launched worker:0, pass 1s",
       "verdict says `~tony.container.registration.timeout`"}}},
    {"TheRegistryTimeoutCountsAcrossMasters",
     {{"job worker*1 registry=20s: gathering, launched worker:0, wait 15s, master 2, pass 4999ms",
       "lacks job_stopping"},
      {"pass 1ms", "has job_stopping"}}},
    {"AnAllocationTimeoutNamesWhoHasNoContainerAndTheKey",
     {{"job worker*3 allocation=45s: start, grant worker:1, pass 44999ms", "lacks job_stopping"},
      {"pass 1ms",
       "has job_stopping; verdict timeout says `~45.0 s (tony.container.allocation.timeout): missing worker:0, "
       "worker:2`"}}},
    {"AnAllocationTimeoutOfAJobWithoutAnyContainerEndsItAtOnce",
     {{"job worker*2 allocation=45s: start, pass 45s",
       "orders withdraw worker:0#1 worker:1#1, end job; state FAILED"}}},
    {"WhereAllHaveContainersTheAllocationTimeoutIsOver",
     {{"job worker*2 allocation=45s: running, pass 45s", "lacks job_stopping"}}},
    {"AfterTheGangHasFormedTheRegistrationTimeoutIsOver", {{"running, pass 30s", "nothing"}}},
    {"TheApplicationTimeoutFailsARunningJobAndNamesTheKey",
     {{"running, pass 44999ms", "nothing"},
      {"pass 1ms",
       "job_stopping; orders tell worker:0#1, tell worker:1#1, tell worker:2#1; verdict timeout says `~45.0 s`; "
       "verdict says `~tony.application.timeout`"}}},
    {"TheApplicationTimeoutHoldsWhileTheGangGathers",
     {{"job worker*1 timeout=45s registration=90s: gathering, pass 45s", "verdict says `~tony.application.timeout`"}}},
    {"TheApplicationTimeoutCountsFromAcceptanceAcrossMasters",
     {{"running, wait 40s, master 2, pass 4999ms", "nothing"}, {"pass 1ms", "job_stopping"}}},
    {"TheRegistrationTimeoutCountsFromAcceptanceAcrossMasters",
     {{"gathering, wait 29999ms, master 2, pass 1ms", "job_stopping"}}},
    {"ATimeoutThatPassedWhileNoMasterLivedIsDueAtOnce",
     {{"running, wait 90s, master 2", "deadline due"}, {"deadline", "job_stopping"}}},
    {"AJobThatStopsHasNoTimeoutLeft", {{"running, kill within 1h slowly, pass 45s", "lacks job_stopping"}}},
    {"TheNextDeadlineIsTheSoonest", {{"gathering", "deadline @30s"}, {"all-registered", "deadline @45s"}}},
    {"AnEndedJobWantsNoTimer", {{"start, kill", "deadline none"}, {"pass 45s", "nothing"}}},
};
TABLE_TEST(JobTimersTest, kLimited, Script("worker*3 timeout=45s registration=30s suspect=24h lost-after=24h"));

TEST(JobTimersTest, WithoutATimeoutAJobRunsForEver) {
  JobDriver driver(JobBuilder().Role("worker", 1).Build());
  driver.Running();
  for (int day = 0; day < 1000; ++day) {
    driver.WaitWithoutRenewal(std::chrono::hours(24));
    driver.Wait(Duration(1));
    driver.Heartbeat("worker:0");
    ASSERT_TRUE(driver.Pass(Duration(0)).decisions.empty());
  }
}

}  // namespace
}  // namespace tony::am
