// Tests missed heartbeats: a silent executor is first suspected, then given up, and its container is killed.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kSilent[] = {
    {"AnExecutorThatIsSilentFor5SecondsIsSuspectedButNotKilled",
     {{"running, wait 1s, heartbeat worker:1, pass 3999ms", "nothing"},
      {"pass 1ms", "attempt_suspected; no orders; worker:0 suspected; worker:1 heard; worker:0 is running"}}},
    {"AnyCallOfAnExecutorResetsTheHeartbeatTimeout",
     {{"running, wait 4999ms, heartbeat worker:0, await worker:1, pass 4999ms", "nothing"}}},
    {"ACallOfASuspectedExecutorClearsTheSuspicion",
     {{"running, pass 5s", "worker:0 suspected"}, {"heartbeat worker:0", "attempt_heard; worker:0 heard"}}},
    {"AReportOfASuspectedExecutorIsAccepted",
     {{"running, pass 5s, report worker:0 success", "attempt_heard attempt_ended; worker:0 heard"}}},
    {"ARejectedCallDoesNotClearTheSuspicionOfAnExecutor",
     {{"running, pass 5s, impostor worker:0 container=another",
       "refused stale_attempt; nothing; worker:0 suspected; deadline +0"}}},
    {"AnExecutorSilentFor60SecondsIsKilledBeforeItsAttemptCountsAsLost",
     {{"begun", "container_kill_ordered; orders kill c-worker-0; worker:0 is running; verdict none"}}},
    {"ASilentAttemptIsLostWhenItsContainerHasExited",
     {{"begun, exit worker:0",
       "attempt_ended container_ended job_stopping; worker:0 is lost; worker:0 heard; verdict node_lost of worker:0 "
       "says `~no heartbeat for 60.0 s`"}}},
    {"TheOutcomeThatASilentExecutorLeftOnDiskDecidesTheVerdict",
     {{"begun, exit worker:0 kept {fails 3|success}", "verdict {exit 3|none; worker:0 is succeeded}"}}},
    {"AnAttemptIsLostIfNoContainerExitIsReported15SecondsAfterTheKill",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms",
       "attempt_ended job_stopping; worker:0 is lost; verdict node_lost says `~no report confirmed that the task's "
       "processes have ended`"}}},
    // The STOP has not reached the executor, which obeys its master until the master has been silent for a long time.
    {"AnExecutorIsLost60SecondsAfterItsLastCallEvenAfterAKillOrder",
     {{"begun, wait 14999ms, await worker:0, wait 59999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "attempt_ended job_stopping"}}},
    {"ANewMasterRestartsTheTimeoutForTheExitOfAKilledContainer",
     {{"begun, standstill 30s, master 2", "epoch_began; orders kill c-worker-0"},
      {"wait 14999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "attempt_ended job_stopping"}}},
    {"AKilledJobWaitsForTheContainerExitOfASilentExecutor",
     {{"begun, kill enough, report worker:1 killed, exit worker:1", "state STOPPING"},
      {"exit worker:0", "state KILLED; worker:0 is killed"}}},
    {"ASilentExecutorsReportIsAcceptedUntilItsContainerExits",
     {{"begun, report worker:0 success", "attempt_heard attempt_ended"},
      {"exit worker:0", "container_ended; verdict none"}}},
    {"CallsOfALostAttemptAreRefused",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 0, pass 1ms", "worker:0 is lost"},
      {"heartbeat worker:0", "refused stale_attempt"},
      {"register worker:0 running 100", "refused stale_attempt; nothing"}}},
    {"ALostAttemptsLateOutcomeIsAcknowledgedAndChangesNothing",
     {{"begun, wait 14999ms, heartbeat worker:1, pass 1ms, register worker:0 ended", "worker:0 is lost"},
      {"report worker:0 success", "nothing; worker:0 told release; verdict node_lost of worker:0"}}},
    {"ARegisteredExecutorCanBeSuspectedEvenBeforeItsTaskRuns",
     {{"gathering, register worker:0", "deadline +5s"}, {"deadline", "attempt_suspected"}}},
    {"AnExecutorThatHasNotRegisteredIsNotSuspected", {{"gathering, launched worker:0, pass 60s", "nothing"}}},
    {"TheHeartbeatTimeoutDoesNotApplyToAStoppingTask",
     {{"running, kill within 1h slowly, pass 60s", "nothing; deadline later"}}},
    {"ANewMasterRestartsTheHeartbeatTimeout",
     {{"running, wait 120s, master 2, pass 4999ms", "nothing"}, {"pass 1ms", "attempt_suspected attempt_suspected"}}},
    // Executors could not see that this master was leader, so the master itself caused the missed heartbeats.
    {"HeartbeatTimeoutsRestartAfterTheMastersLeaseLapsed",
     {{"running, standstill 120s, pass 0", "nothing"},
      {"wait 1ms, pass 4999ms", "nothing"},
      {"pass 1ms", "attempt_suspected attempt_suspected"}}},
    {"ASuspectedExecutorGetsAnother60SecondsUnderANewMaster",
     {{"running, pass 5s, master 2", "worker:0 suspected"},
      {"heartbeat worker:1, wait 59999ms, heartbeat worker:1, pass 0", "nothing"},
      {"pass 1ms", "container_kill_ordered"}}},
    // ---- a scheduler that sees each process
    {"ASilentAttemptEndsOnlyWhenItsContainerExitsIfTheSchedulerConfirmsExits",
     {{"confirming-start, all-granted, all-registered, all-run, pass 5s, pass 55s", "also kill c-worker-0"},
      {"pass 75s", "lacks attempt_ended"},
      {"exit worker:0", "has attempt_ended"}}},
    {"ATaskThatFailsAndLeavesAnUnkillableProcessIsNotRestarted",
     {{"job worker*2 gang=3: confirming-start, all-up, exit worker:0 unseen left says `process 7 (sleep) of root "
       "cannot be ended by alice` kept fails 3",
       "verdict user_error exit 3; worker:0 outcome user_error says `~process 7 (sleep) of root`"}}},
    {"AnUnkillableProcessOfATaskThatMustRestartFailsTheJob",
     {{"job worker*2 gang=3: confirming-start, all-up, report worker:0 fails 1", "verdict none"},
      {"exit worker:1 unseen left says `process 7 (sleep) of root cannot be ended by alice`",
       "verdict infra says `worker:1 cannot be restarted: process 7 (sleep) of root cannot be ended by alice`"}}},
    {"ATaskThatLeavesAnUnkillableProcessCanStillSucceed",
     {{"job worker*2 gang=3: confirming-start, all-up, exit worker:0 unseen left says `process 7 (sleep) of root "
       "cannot be ended by alice` kept success",
       "verdict none; worker:0 outcome success"}}},
};
TABLE_TEST(JobLivenessTest, kSilent,
           Script("worker*2 suspect=5s lost-after=60s registration=24h lost=0",
                  "running, pass 5s, heartbeat worker:1, wait 55s, heartbeat worker:1, pass 0"));

// ---- Limits of the whole job, and the deadlines that the core requests for them.

const TestRow kLimited[] = {
    {"TheVerdictOfARegistrationTimeoutNamesTheSettingAndTheMissingTasks",
     {{"gathering, register worker:1, pass 29999ms", "nothing"},
      {"pass 1ms",
       "job_stopping; verdict FAILED timeout says `~missing worker:0, worker:2`; verdict says `~30.0 s`; verdict says "
       "`~tony.container.registration.timeout`"}}},
    {"ATimeoutVerdictNamesFiveUnregisteredTasksAndCountsTheRest",
     {{"job worker*100 registration=30s: gathering, pass 30s", "verdict says `~worker:4 and 95 more`"}}},
    {"TheRegistrationTimeoutStartsWhenAllTasksHaveContainers",
     {{"job worker*2 registration=30s suspect=24h lost-after=24h: start, grant worker:0, register worker:0, pass 300s",
       "lacks job_stopping"},
      {"grant worker:1, pass 29999ms", "lacks job_stopping"},
      {"pass 1ms", "has job_stopping; verdict says `~missing worker:1`"}}},
    {"TheRegistryTimeoutOfATaskStartsWhenItsContainerStarts",
     {{"job worker*2 registry=2s: gathering, pass 5s", "verdict none"},
      {"launched worker:1, pass 1999ms", "lacks job_stopping"},
      {"pass 1ms",
       "has job_stopping; verdict FAILED timeout says `worker:1 did not register within 2.0 s of its container's start "
       "(tony.task.executor.registry-timeout-sec)`"}}},
    {"TheRegistryTimeoutDoesNotApplyAfterTheRegistration",
     {{"job worker*1 registry=2s: gathering, launched worker:0, register worker:0, pass 4s", "lacks job_stopping"}}},
    {"TheEarlierOfRegistrationTimeoutAndRegistryTimeoutFailsTheJob",
     {{"job worker*1 registration=1s registry=2s: gathering, launched worker:0, pass 1s",
       "verdict says `~tony.container.registration.timeout`"}}},
    {"TheRegistryTimeoutContinuesUnderANewMaster",
     {{"job worker*1 registry=20s: gathering, launched worker:0, wait 15s, master 2, pass 4999ms",
       "lacks job_stopping"},
      {"pass 1ms", "has job_stopping"}}},
    {"TheVerdictOfAnAllocationTimeoutNamesTheSettingAndTheTasksWithoutContainers",
     {{"job worker*3 allocation=45s: start, grant worker:1, pass 44999ms", "lacks job_stopping"},
      {"pass 1ms",
       "has job_stopping; verdict timeout says `~45.0 s (tony.container.allocation.timeout): missing worker:0, "
       "worker:2`"}}},
    {"AnAllocationTimeoutEndsTheJobAtOnceIfNoContainerWasGranted",
     {{"job worker*2 allocation=45s: start, pass 45s",
       "orders withdraw worker:0#1 worker:1#1, end job; state FAILED"}}},
    {"TheAllocationTimeoutDoesNotApplyOnceAllTasksHaveContainers",
     {{"job worker*2 allocation=45s: running, pass 45s", "lacks job_stopping"}}},
    {"TheRegistrationTimeoutDoesNotApplyOnceTheGangHasFormed", {{"running, pass 30s", "nothing"}}},
    {"TheApplicationTimeoutFailsARunningJobAndTheVerdictNamesTheSetting",
     {{"running, pass 44999ms", "nothing"},
      {"pass 1ms",
       "job_stopping; orders tell worker:0#1, tell worker:1#1, tell worker:2#1; verdict timeout says `~45.0 s`; "
       "verdict says `~tony.application.timeout`"}}},
    {"TheApplicationTimeoutAlsoFailsAJobThatStillAwaitsRegistrations",
     {{"job worker*1 timeout=45s registration=90s: gathering, pass 45s", "verdict says `~tony.application.timeout`"}}},
    {"ANewMasterMeasuresTheApplicationTimeoutFromTheJobsAcceptance",
     {{"running, wait 40s, master 2, pass 4999ms", "nothing"}, {"pass 1ms", "job_stopping"}}},
    {"TheRegistrationTimeoutContinuesUnderANewMaster",
     {{"gathering, wait 29999ms, master 2, pass 1ms", "job_stopping"}}},
    {"TheNextMasterFailsAJobWhoseTimeoutExpiredWhileNoMasterRan",
     {{"running, wait 90s, master 2", "deadline due"}, {"deadline", "job_stopping"}}},
    {"AStoppingJobHasNoApplicationTimeout", {{"running, kill within 1h slowly, pass 45s", "lacks job_stopping"}}},
    {"TheNextDeadlineIsTheEarliestTimeout", {{"gathering", "deadline @30s"}, {"all-registered", "deadline @45s"}}},
    {"AnEndedJobHasNoDeadline", {{"start, kill", "deadline none"}, {"pass 45s", "nothing"}}},
};
TABLE_TEST(JobTimersTest, kLimited, Script("worker*3 timeout=45s registration=30s suspect=24h lost-after=24h"));

TEST(JobTimersTest, AJobWithoutATimeoutStillRunsAfter1000Days) {
  JobDriver driver(JobBuilder().Role("worker", 1).Build());
  driver.Running();
  for (int day = 0; day < 1000; ++day) {
    driver.WaitWithoutRenewal(std::chrono::hours(24));
    driver.Wait(Duration(1));
    driver.Heartbeat("worker:0");
    ASSERT_TRUE(driver.Pass(Duration(0)).decisions.empty());
  }
}

// ---- Limits exactly at their boundary, and the order of two events that are due together.

const TestRow kEdges[] = {
    // ---- missed heartbeats
    {"ALeaseRenewalRestartsHeartbeatTimeoutsOnlyIfTheLeaseRecordWasStale",
     {{"+fresh=2s: running, standstill {2s|2001ms}, renew", "deadline {+3s|+5s}"}}},
    {"ExecutorsAreSuspectedOnlyWhileTheMastersLeaseRecordIsFresh",
     {{"running, standstill {5s|5001ms}, tick", "{attempt_suspected attempt_suspected|nothing}"}}},
    {"AClearedSuspicionDoesNotDelayTheHeartbeatCheckOfOtherTasks",
     {{"running, wait 4s, heartbeat worker:1, pass 1s, pass 0", "worker:0 suspected"},
      {"wait 1s, heartbeat worker:0", "attempt_heard; deadline +3s"}}},
    {"ARestartedTaskDoesNotDelayTheHeartbeatCheckOfOtherTasks",
     {{"+task=1: running, wait 3s, report worker:0 fails 1", "has restart_began; deadline +2s"}}},
    // The kept outcome is the first attempt's. The scheduler read it before the container was given to the second
    // attempt.
    {"AnOutcomeLeftOnDiskByAnEarlierAttemptIsIgnored",
     {{"+task=1: running, report worker:0 fails 1", "has restart_began"},
      {"kill, exit worker:0 unseen kept fails 1", "worker:0 outcome killed unseen"}}},
    // ---- stops
    {"ANewMasterRestartsTheGracePeriodOfStoppingTasks",
     {{"job worker*2 standalone registration=24h suspect=20s grace=10s lost-after=60s fresh=5s: running, kill, wait "
       "10s, master 2, pass 14999ms",
       "nothing"},
      {"pass 1ms", "container_kill_ordered"}}},
    {"AKillSendsNoSecondStopIfTheTaskStopsWithTheSameGracePeriod",
     {{"job worker*2 registration=24h suspect=5s grace=10s lost-after=60s fresh=5s pytorch gang=1: running, report "
       "worker:0 fails 1",
       "worker:1 told stop"},
      {"kill within 10s enough", "orders tell worker:0#1"}}},
    {"CommandNumbersGrowFromStopToNextAttemptToRelease",
     {{"+pytorch gang=1: running, report worker:0 fails 1, note worker:1, exit worker:1 kept killed",
       "worker:0 told next 2; worker:1 told release; worker:0 numbered above noted worker:1; worker:1 numbered above "
       "worker:0"}}},
    // ---- ends before the task has run
    {"AnAttemptThatEndsBeforeItRunsIsLostUnlessItReportsAFailure",
     {{"+lost=0: gathering, all-registered", "worker:0 is registered"},
      {"{report worker:0 fails 1|exit worker:0}", "worker:0 is {failed|lost}"}}},
    {"AGangRestartIsPossibleBeforeTheGangHasFormed",
     {{"+lost=0 gang=1: start, grant worker:0{|, grant worker:1}", "state {ALLOCATING|GATHERING}"},
      {"exit worker:0", "restart gang{|; state RESTARTING}"},
      {"{|exit worker:1, }all-granted, all-registered", "state RUNNING"}}},
    // ---- two or many at once
    {"TheNextDeadlineIsTheEndOfTheEarlierOfTwoBackOffs",
     {{"+suspect=20s fresh=20s task=3 backoff=1s/8s: running, report worker:0 worker:1 fails 1, register worker:0#2 "
       "worker:1#2, report worker:0#2 fails 1, wait 500ms, report worker:1#2 fails 1",
       "deadline +500ms"}}},
    {"ATimeoutVerdictNamesAllUnregisteredTasksIfThereAreFive",
     {{"job worker*5 registration=1s: gathering, pass 1s", "verdict says `$worker:3, worker:4`"}}},
};
TABLE_TEST(JobEdgeTest, kEdges,
           Script("worker*2 standalone registration=24h suspect=5s grace=10s lost-after=60s fresh=5s"));

}  // namespace
}  // namespace tony::am
