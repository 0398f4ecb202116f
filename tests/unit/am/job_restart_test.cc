// Tests restarts of single tasks and of roles: which commands executors receive and when, and which attempts keep their
// container or get a new one.
#include "tests/unit/am/job_script.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

const TestRow kRestarting[] = {
    // ---- signals whose sender is unknown
    {"TheThirdSignalFromAnUnknownSenderIsBlamedOnTheProgram",
     {{"running, report worker:0 infra by TERM signal", "restart task free"},
      {"register worker:0#2, all-run, report worker:0#2 infra by TERM signal", "restart task free"},
      {"deadline, register worker:0#3, all-run, report worker:0#3 infra by TERM signal",
       "verdict user_error says `~the task's own processes may have sent the signal`"}}},
    {"SignalsOnALostNodeAreNotBlamedOnTheProgram",
     {{"running, report worker:0 {node_lost|infra|infra} by TERM signal", "restart task free"},
      {"{exit worker:0, all-up|register worker:0#2, all-run|register worker:0#2, all-run}, report worker:0#2 "
       "{infra|node_lost|infra} by TERM signal",
       "restart task free"},
      {"{deadline, register worker:0#3|exit worker:0#2, deadline, all-up|deadline, register worker:0#3}, all-run, "
       "report worker:0#3 {infra|infra|node_lost} by TERM signal",
       "restart task free"}}},
    {"TheRestartAfterAThirdSignalFromAnUnknownSenderUsesTheTaskBudget",
     {{"+task=1: running, report worker:0 infra by TERM signal", "restart task free"},
      {"register worker:0#2, all-run, report worker:0#2 infra by TERM signal", "restart task free"},
      {"deadline, register worker:0#3, all-run, report worker:0#3 infra by TERM signal", "restart task charged"}}},
    {"OnlySignalsToTheSameTaskWithinTheTimeWindowAreBlamedOnTheProgram",
     {{"+lost=10/60s: running, report worker:0 infra by TERM signal, register worker:0#2, all-run, report worker:1 "
       "infra by TERM signal",
       "restart task free"},
      {"wait 60s, report worker:0#2 infra by TERM signal", "restart task free"}}},
    // ---- one task
    {"AFailedTaskRestartsInItsExecutorWhileOtherTasksKeepRunning",
     {{"+task=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided restart_began; orders tell worker:0#1; worker:0 told next 2; worker:1 told start "
       "1; state RUNNING; worker:0 attempt 2; worker:0#2 is launching; worker:0#2 host node-worker-0"}}},
    {"ARestartedTaskStartsInTheSameGenerationWithTheSameClusterSpec",
     {{"+task=1: running, note worker:1, report worker:0 fails 1, register worker:0#2",
       "attempt_registered; orders tell worker:0#2; worker:0#2 told start 1; worker:0#2 cluster as worker:1; worker:1 "
       "told as noted"},
      {"heartbeat worker:0#2", "attempt_ran; generation 1"}}},
    {"AnExecutorReceivesNoCommandUntilTheBackOffOfItsTaskIsOver",
     {{"+task=2 backoff=3s/9s: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1",
       "attempt_ended restart_decided; no orders; worker:0#2 told none; worker:0 state backoff; deadline +3s"},
      {"pass 2999ms", "lacks restart_began"},
      {"pass 1ms", "orders tell worker:0#2; worker:0#2 told next 3"}}},
    {"AContainerLostDuringTheBackOffIsReplaced",
     {{"+task=2: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 1, exit worker:0#2",
       "container_ended"},
      {"deadline", "restart_began; orders tell worker:0#2, request worker:0#3"}}},
    {"TheClusterSpecOfATaskRestartedOnAnotherNodeHasTheNewAddress",
     {{"running, exit worker:0", "worker:0#2 is requested"},
      {"grant worker:0#2", "orders launch worker:0#2 in c-worker-0-2"},
      {"register worker:0#2",
       "worker:0#2 told start 1; worker:0#2 reads ~node-worker-0-2:4000; worker:0#2 reads ~node-worker-1:4001; "
       "worker:0#2 reads !node-worker-0:4000"}}},
    {"AWorkerWithParameterServersRestartsAloneIfItsAddressIsUnchanged",
     {{"job worker*2 ps*1:untracked task=1: running, report worker:1 fails 1, register worker:1#2",
       "worker:1#2 ps:0 told start 1; worker:1#2 cluster as ps:0"}}},
    {"ASidecarRestartsAloneUntilItsBudgetIsUsedUp",
     {{"job worker*2 board*1:sidecar pytorch task=1: running, report board:0 fails 1",
       "attempt_ended restart_decided; worker:0 told start 1"},
      {"exit board:0, all-granted, all-registered", "board:0#2 told start 1"},
      {"report board:0#2 fails 1", "attempt_ended; board:0#2 told release; state RUNNING"}}},
    {"ATaskThatEndsBeforeTheGangHasFormedIsReplacedWithoutAGangRestart",
     {{"job worker*2 board*1:sidecar pytorch: gathering, register worker:0, exit worker:1",
       "attempt_ended container_ended restart_decided restart_began; also request worker:1#2; worker:0 told none"},
      {"all-granted, all-registered", "worker:0 worker:1#2 told start 1; state RUNNING"}}},
    // ---- a role
    {"TasksOfARoleRestartTogetherWhileOtherRolesKeepRunning",
     {{"+reader*1 role=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; orders tell worker:1#1; worker:0 told none; worker:1 told stop; reader:0 told "
       "start 1"},
      {"report worker:1 killed", "attempt_ended restart_began; orders tell worker:0#1, tell worker:1#1"},
      {"register worker:0#2", "no orders; worker:0#2 told none"},
      {"register worker:1#2", "orders tell worker:0#2, tell worker:1#2; worker:0#2 told start 1; state RUNNING"}}},
    {"ARoleRestartDoesNotWaitForATaskThatIsLostBeforeItRegisters",
     {{"+role=1: running, report worker:0 fails 1, report worker:1 killed, register worker:0#2",
       "worker:0#2 told none"},
      {"exit worker:1#2", "worker:0#2 told start 1"},
      {"all-granted, all-registered", "worker:1#3 told start 1"}}},
    {"AnExecutorWithAnInfraFailureIsReleasedAndTheTaskGetsANewContainer",
     {{"running, report worker:0 {node_lost|infra|preempted}", "worker:0 told release"},
      {"exit worker:0", "also request worker:0#2"}}},
    {"TheVerdictCountsTheRestartsAfterLostContainers",
     {{"running, exit worker:0, report worker:1 fails 1", "verdict says `~(user_error); after 1 restart`"}}},
    // ---- one restart replaces another
    {"AGangRestartReplacesATaskRestartThatHasNotBegun",
     {{"+gang=1: running, report worker:0 preempted", "worker:0 state backoff"},
      {"report worker:1 fails 1", "attempt_ended restart_decided"},
      {"exit worker:0",
       "container_ended restart_began; began 2; restarts 2; worker:1 told next 2; worker:0#2 is requested; state "
       "ALLOCATING"}}},
    {"TwoTasksRestartIndependently",
     {{"+task=1: running, report worker:0 preempted, report worker:1 fails 1",
       "attempt_ended restart_decided restart_began; worker:0 state backoff; worker:1 state active"}}},
};
TABLE_TEST(JobRestartTest, kRestarting, Script("worker*2 standalone"));

TEST(JobRestartTest, TheStatusShowsTheNewestTwentyRestartsAndTheTotalCount) {
  const Duration at_once{0};
  JobDriver driver(Alone().Restarts(kTask, 50).Backoff(at_once, at_once).Build());
  driver.Running();
  for (int attempt = 1; attempt <= 25; ++attempt) {
    driver.Report("worker:0#" + std::to_string(attempt), Failure(attempt));
    driver.RegisterAll().RunAll();
  }
  const JobStatus status = driver.Status();
  EXPECT_EQ(status.restart_count, 25);
  ASSERT_EQ(status.restarts.size(), 20U);
  EXPECT_EQ(status.restarts.front().number, 6);
  EXPECT_EQ(status.restarts.back().number, 25);
  EXPECT_EQ(status.restarts.back().scope, "task");
  EXPECT_EQ(status.restarts.back().cause, AttemptOf("worker:0#25"));
  EXPECT_TRUE(status.restarts.back().charged);
}

// ---- Restarts of the gang and of the job: which commands executors receive and when, and what continues to run.

const TestRow kGangRestarting[] = {
    {"AGangRestartStopsRunningTasksAndKeepsTheirExecutors",
     {{"+gang=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; orders tell board:0#1, tell worker:1#1; worker:0 told none; worker:1 told stop; "
       "worker:1 grace 10s; state RESTARTING; board:0 worker:0 worker:1 state backoff"},
      {"report worker:1 killed", "attempt_ended; worker:1 told none"}}},
    {"AGangRestartsAsTheNextGenerationInTheSameContainers",
     {{"+gang=1: running, report worker:0 fails 1, report worker:1 killed, report board:0 killed",
       "attempt_ended restart_began gang_allocated; orders tell board:0#1, tell worker:0#1, tell worker:1#1; worker:1 "
       "told next 2"},
      {"register worker:0#2 worker:1#2", "worker:0#2 told none"},
      {"register board:0#2",
       "attempt_registered generation_formed; worker:0#2 told start 2; generation 2; state RUNNING; restarts 1; "
       "because `worker:0 failed on node-worker-0: exit code 1 (user_error)`"}}},
    {"AGangRestartWaitsForTheNewContainerOfATaskThatLostItsContainer",
     {{"+gang=1: running, report worker:0 fails 1, exit worker:1, report board:0 killed",
       "attempt_ended restart_began; orders tell board:0#1, tell worker:0#1, tell worker:1#1, request worker:1#2; "
       "worker:0 told next 2; worker:1 told release; state ALLOCATING"},
      {"all-granted, all-registered", "worker:1#2 worker:0#2 told start 2"}}},
    {"ASecondFailureDuringAGangRestartUsesNoRestartBudget",
     {{"+gang=1: running, report worker:0 fails 1, report worker:1 fails 2", "attempt_ended"},
      {"report board:0 killed", "restarts 1; worker:1 told next 2"}}},
    {"AUsedUpRestartBudgetFailsTheJobAndIsNamedInTheVerdict",
     {{"job worker*1 pytorch gang=1: running, report worker:0 fails 1, register worker:0#2, report worker:0#2 fails 3",
       "attempt_ended job_stopping; verdict of worker:0#2 says `~exit code 3 (user_error); restart budget used up: "
       "gang 1 of 1`; worker:0#2 told release"}}},
    {"ASucceededTaskRunsAgainWithItsGangAndMustSucceedAgain",
     {{"job worker*2 pytorch gang=1: running, report worker:0 success, exit worker:0, report worker:1 fails 1",
       "attempt_ended restart_decided restart_began; orders tell worker:0#1, tell worker:1#1, tell worker:0#1, request "
       "worker:0#2"},
      {"all-granted, all-registered, all-run", "generation 2"},
      {"report worker:1#2 success", "verdict none"},
      {"report worker:0#2 success", "verdict SUCCEEDED"}}},
    // The executor may have left already, because RELEASE cannot be taken back.
    {"AReleasedExecutorIsNotReusedByAGangRestart",
     {{"job worker*2 pytorch gang=1: running, report worker:0 success", "worker:0 told release"},
      {"report worker:1 fails 1", "attempt_ended restart_decided; worker:0 told release"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    // ---- the job
    {"AJobRestartReleasesAllExecutorsAndRequestsNewContainers",
     {{"+job=1: running, report worker:0 fails 1",
       "attempt_ended restart_decided; worker:0 told release; worker:1 told stop"},
      {"report worker:1 board:0 killed", "worker:1 told release"},
      {"exit worker:0 worker:1 board:0", "container_ended restart_began; also request board:0#2 worker:0#2 worker:1#2"},
      {"all-granted, all-registered", "worker:0#2 told start 2; worker:0 host node-worker-0-2"}}},
    {"CommandNumbersOfAnAttemptIncreaseDuringAGangRestart",
     {{"+gang=2: running, note worker:1, report worker:0 fails 1", "worker:1 numbered above noted"},
      {"note worker:1, report worker:1 killed", "worker:1 numbered 0"},
      {"report board:0 killed", "worker:1 numbered above noted; worker:1#2 numbered 0"},
      {"all-registered", "worker:1#2 numbered above 0"}}},
};
TABLE_TEST(JobGangRestartTest, kGangRestarting, Script("worker*2 board*1:sidecar pytorch"));

// ---- Events in between: kills, limits, lost containers, missed heartbeats, preemption, calls of old executors.

const TestRow kTroubled[] = {
    // ---- kills and limits
    {"AKillDuringAGangRestartReleasesWaitingExecutorsAndStopsRunningTasks",
     {{"begun, kill within 100ms enough",
       "job_stopping; orders tell worker:0#1, tell worker:1#1; worker:0 told release; worker:1 grace 100ms"},
      {"report worker:1 killed", "worker:1 told release"},
      {"exit worker:0 worker:1", "state KILLED; worker:0 worker:1 state done"}}},
    {"AKillDuringABackOffReleasesTheWaitingExecutor",
     {{"job worker*2 standalone task=2: begun, register worker:0#2, report worker:0#2 fails 1, kill enough",
       "worker:0#2 told release; worker:1 told stop; worker:0 state done"},
      {"report worker:1 killed, exit worker:0#2 worker:1", "state KILLED; deadline none"}}},
    {"AKilledJobStopsTheNextAttemptAsSoonAsItRegisters",
     {{"begun, report worker:1 killed", "worker:0 told next 2"},
      {"kill enough", "orders tell worker:0#2, tell worker:1#2; worker:0 told next 2"},
      {"register worker:0#2", "worker:0#2 told stop"},
      {"report worker:0#2 killed", "worker:0#2 told release"}}},
    {"AContainerIsKilledIfItsWaitingExecutorDoesNotExitAfterAKill",
     {{"job worker*2 standalone task=2: begun, register worker:0#2, report worker:0#2 fails 1, kill enough, report "
       "worker:1 killed, exit worker:1, deadline",
       "orders kill c-worker-0"}}},
    {"TheApplicationTimeoutKeepsRunningDuringARestart",
     {{"+timeout=5s: begun, pass 5s", "job_stopping; verdict timeout; worker:0 told release"}}},
    {"ARestartedAttemptGetsTheFullRegistrationTimeout",
     {{"+registration=20s: begun, wait 20s, report worker:1 killed, register worker:0#2, wait 19999ms, heartbeat "
       "worker:0#2 waiting 0, pass 0",
       "lacks job_stopping"},
      {"pass 1ms", "job_stopping; verdict says `~missing worker:1`"}}},
    {"AGangRestartKillsATaskThatDoesNotStopWithinTheGracePeriod",
     {{"begun, pass 10s", "no orders"},
      {"deadline", "orders kill c-worker-1"},
      {"exit worker:1", "attempt_ended container_ended restart_began; also request worker:1#2; worker:0 told next 2"}}},
    // ---- losses
    {"ARestartWaitsUntilTheLostContainerHasExited",
     {{"job worker*2 standalone: running, report worker:0 infra", "attempt_ended restart_decided"},
      {"wait 1s, exit worker:0", "container_ended restart_began"}}},
    {"ARestartBeginsEvenIfTheLostContainerDoesNotExitWithin15Seconds",
     {{"job worker*2 standalone: running, report worker:0 infra, wait 5s, heartbeat worker:1, pass 0",
       "orders kill c-worker-0"},
      {"wait 9999ms, heartbeat worker:1, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms", "restart_began; also request worker:0#2"}}},
    {"ATaskOnASilentNodeRestartsWithoutUsingItsRestartBudget",
     {{"job worker*2 standalone: running, pass 5s, heartbeat worker:1, wait 55s, heartbeat worker:1, pass 0",
       "orders kill c-worker-0"},
      {"exit worker:0",
       "attempt_ended container_ended restart_decided restart_began; restart task free; also request worker:0#2"}}},
    {"AnExecutorThatNeverRegistersItsNextAttemptIsSuspectedAndLost",
     {{"job worker*2 standalone task=1: begun", "worker:0 told next 2"},
      {"wait 5s, heartbeat worker:1, pass 0", "attempt_suspected; worker:0 suspected"},
      {"wait 55s, heartbeat worker:1, pass 0", "orders kill c-worker-0"},
      {"wait 15s, heartbeat worker:1, pass 0",
       "attempt_ended restart_decided restart_began; restart free; worker:0#2 is lost"}}},
    {"EveryCallOfAReplacedAttemptIsRefused",
     {{"job worker*2 standalone: running, exit worker:0, grant worker:0#2, {register worker:0 running 100|heartbeat "
       "worker:0|await worker:0|report worker:0 success}",
       "refused stale_attempt; nothing"}}},
    {"LateCallsOfThePreviousAttemptInTheSameExecutorChangeNothing",
     {{"job worker*2 standalone task=1: begun, register worker:0#2, report worker:0 fails 1, await worker:0",
       "worker:0 told next 2"},
      {"heartbeat worker:0", "refused; worker:0#2 is registered"}}},
    {"ACallOfTheNextAttemptIsRejectedBeforeTheRestartBegins",
     {{"begun, impostor worker:0 attempt=worker:0#2", "refused unknown_attempt"}}},
    // Only the scheduler reports this end, and the class that it names decides.
    {"ATaskThatEndsBeforeRegisteringCountsAsLostEvenAfterAnOom",
     {{"job worker*2 standalone: gathering, exit worker:0 unseen because oom", "worker:0 is lost; verdict oom"}}},
    {"AnOutOfMemoryVerdictNamesTheConfiguredMemory",
     {{"job worker*2 standalone: gathering, register worker:0, exit worker:0 unseen because oom says `out of memory: "
       "the limit was reached`",
       "verdict oom says `~out of memory: the limit was reached; tony.worker.memory is 2048 MB`"}}},
    {"ASuccessOrFailureOnDiskOverridesTheExitCauseReportedByTheScheduler",
     {{"job worker*2 standalone lost=0: running, exit worker:0 unseen because {node_lost|preempted kept "
       "killed|preempted kept fails 1|node_lost kept success}",
       "worker:0 outcome {node_lost|preempted|user_error|success}"}}},
    // ---- missed heartbeats while a task is being stopped
    {"ARestartBeginsEvenIfAKilledContainerDoesNotExitWithin60Seconds",
     {{"begun, wait 10s, deadline", "also kill c-worker-1; deadline +60s"},
      {"deadline", "attempt_ended restart_began"}}},
};
TABLE_TEST(JobRestartTroubleTest, kTroubled, Script("worker*2 pytorch gang=2", "running, report worker:0 fails 1"));

// ---- A scheduler that preempts containers with notice.

const TestRow kPreempting[] = {
    {"APreemptionNoticeStopsTheTaskWithAGracePeriodShorterThanTheNotice",
     {{"running, preempt worker:0 5s",
       "attempt_stopping; orders tell worker:0#1; worker:0 told stop; worker:0 grace 4s; worker:0 because preempted; "
       "worker:1 told start 1"},
      {"kill", "worker:1 because"}}},
    {"APreemptedTaskRestartsInANewContainerWithoutUsingItsRestartBudget",
     {{"running, preempt worker:0 5s, report worker:0 killed",
       "attempt_ended restart_decided; restart free; worker:0 outcome preempted by TERM; worker:0 told release"},
      {"exit worker:0", "also request worker:0#2"}}},
    {"ATaskThatSucceedsAfterAPreemptionNoticeIsNotRestarted",
     {{"running, preempt worker:0 5s, report worker:0 success", "attempt_ended; worker:0 is succeeded"}}},
    {"ASecondPreemptionNoticeOrANoticeForAnEndedAttemptIsIgnored",
     {{"running, preempt worker:0 5s, report worker:1 success, preempt worker:0 2s", "nothing"},
      {"preempt worker:1 2s", "nothing"},
      {"kill, preempt worker:0 1s", "nothing"}}},
    {"APreemptedExecutorThatHasNotRegisteredIsTerminatedAndReplaced",
     {{"gathering, preempt worker:0 5s", "orders tell worker:0#1, term c-worker-0"},
      {"exit worker:0", "also request worker:0#2"},
      {"all-granted, all-registered", "worker:0#2 told start 1"}}},
    {"APreemptedTaskOfARestartingGangGetsANewContainer",
     {{"job worker*2 pytorch gang=2: running, preempt worker:0 5s, report worker:1 fails 1",
       "attempt_ended restart_decided; worker:0 grace 4s"},
      {"report worker:0 killed", "worker:0 told release"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2; restarts 1"}}},
    {"AContainerPreemptedBetweenTwoAttemptsIsKilledAndReplaced",
     {{"job worker*2 pytorch gang=2 backoff=3s/9s: running, report worker:0 fails 1, preempt worker:0 5s",
       "orders kill c-worker-0"},
      {"report worker:1 killed", "attempt_ended"},
      {"exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    {"APreemptedContainerOfAStoppingTaskIsNotReused",
     {{"job worker*2 pytorch gang=2: running, report worker:0 fails 1, preempt worker:1 5s", "nothing"},
      {"report worker:1 killed", "also kill c-worker-1"},
      {"exit worker:1", "also request worker:1#2; worker:0 told next 2"}}},
    {"AReportFromAPreemptedContainerThatIsBeingKilledIsAccepted",
     {{"job worker*2 pytorch gang=2: running, report worker:0 fails 1, preempt worker:1 5s, deadline",
       "has container_kill_ordered"},
      {"report worker:1 killed", "attempt_ended"},
      {"exit worker:1", "also request worker:1#2"}}},
    {"APreemptedContainerOfAFailedTaskIsNotReused",
     {{"job worker*2 pytorch gang=2: running, preempt worker:0 5s, report worker:0 fails 1",
       "attempt_ended container_kill_ordered restart_decided"},
      {"report worker:1 killed, exit worker:0", "also request worker:0#2; worker:1 told next 2"}}},
    {"APreemptionNoticeOf300MillisecondsGivesNoGracePeriod", {{"running, preempt worker:0 300ms", "worker:0 grace 0"}}},
};
TABLE_TEST(JobPreemptionTest, kPreempting, Script("worker*2 standalone"));

// ---- Containers on a cluster in which no task runs yet, or in which all tasks wait for a restart: they are not held
// for ever.

const TestRow kHeld[] = {
    {"AnIncompleteGangReturnsItsContainersAfterTheHoldTimeout",
     {{"begun, pass 29999ms", "lacks restart_decided; deadline due"},
      {"pass 1ms", "restart job free; also withdraw worker:1#2; worker:0#2 told stop"},
      {"report worker:0#2 killed, register worker:2#2, report worker:2#2 killed", "worker:0#2 told release"},
      {"exit worker:0#2 worker:2#2", "also request worker:0#3 worker:1#3 worker:2#3"},
      {"all-granted, all-registered",
       "worker:0#3 told start 2; restarts 2; because `~worker:1 got no container for 30.0 s (tony.yarn.gang-hold)`"}}},
    // A master without its lease could not receive containers during the gap.
    {"TimeWithoutALeaseDoesNotCountTowardsTheHoldTimeoutOfAGang",
     {{"begun, standstill 29999ms, renew, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"}}},
    {"AStartingGangReturnsItsContainersIfALostContainerIsNotReplacedInTime",
     {{"gathering, register worker:0, exit worker:1, pass 30s", "has restart_decided"}}},
    {"ANewlyGrantedContainerRestartsTheHoldTimeoutOfTheGang",
     {{"start, grant worker:0, pass 29999ms, grant worker:1, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"}}},
    {"AGangWithoutContainersHasNoHoldTimeout", {{"start, pass 300s", "lacks restart_decided"}}},
    {"StandaloneTasksKeepTheirContainersBeyondTheHoldTimeout",
     {{"job worker*2 standalone yarn hold=30s{| fcfs}: running, exit worker:1, pass 30s", "lacks restart_decided"}}},
    {"AnIncompleteGangKeepsItsContainersWithoutYarnOrWithoutAHoldTimeout",
     {{"job worker*3 pytorch gang=2 {hold=30s|yarn hold=0}: begun, pass 30s", "lacks restart_decided"}}},
    // Otherwise two gangs that lend each other a node would use up the budget for lost nodes.
    {"ARestartAfterTheHoldTimeoutUsesNoRestartBudget",
     {{"job worker*3 pytorch gang=2 lost=1 yarn hold=30s: begun, pass 30s, exit worker:0#2 worker:2#2, all-granted, "
       "all-registered, all-run, exit worker:1#3",
       "restart free"}}},
    {"ANewMasterRestartsTheHoldTimeoutOfAnIncompleteGang",
     {{"begun, pass 29999ms, master 2, pass 29999ms", "lacks restart_decided"},
      {"pass 1ms", "has restart_decided"},
      {"master 3", "worker:0#2 told stop"}}},
    {"ContainersAreReturnedIfARestartBackOffIsLongerThanTheHoldTimeout",
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

// ---- Sidecars that run on while the gang starts again.

const TestRow kOutliving[] = {
    {"AGangRestartDoesNotStopASidecarThatOutlivesRestarts",
     {{"running, report worker:0 fails 1", "orders tell worker:1#1"},
      {"report worker:1 killed", "attempt_ended restart_began gang_allocated"},
      {"register worker:0#2 worker:1#2",
       "attempt_registered generation_formed; worker:1#2 told start 2; board:0 told start 1; board:0 is running; "
       "board:0 attempt 1"}}},
    {"TheNextGenerationReceivesTheAddressOfTheRunningSidecar",
     {{"begun, all-registered", "worker:0#2 told start 2; worker:0#2 reads ~\"board\":[\"node-board-0:4000\"]"}}},
    {"AStartedSidecarOutlivesAGangRestartEvenBeforeItsFirstHeartbeat",
     {{"gathering, all-registered, heartbeat worker:0, report worker:0 fails 1, report worker:1 killed, register "
       "worker:0#2 worker:1#2",
       "worker:1#2 told start 2; board:0 told start 1"},
      {"heartbeat board:0", "board:0 is running"}}},
    {"AGangRestartDoesNotWaitForASidecarThatEndsDuringTheRestart",
     {{"begun, report board:0 fails 127", "attempt_ended; state GATHERING"},
      {"register worker:0#2 worker:1#2", "state RUNNING; board:0 state done"}}},
    {"ASidecarThatIsLostDuringAGangRestartIsRestartedAlone",
     {{"begun, exit board:0", "attempt_ended container_ended restart_decided restart_began"},
      {"grant board:0#2, launched board:0#2, register board:0#2", "board:0#2 told start 1"},
      {"register worker:0#2 worker:1#2", "worker:0#2 told start 2; board:0#2 told start 1"}}},
    {"AGangRestartDoesNotWaitForTheNewContainerOfASidecar",
     {{"begun, exit board:0, register worker:0#2 worker:1#2", "state RUNNING"},
      {"grant board:0#2, launched board:0#2, register board:0#2", "board:0#2 told start 2"}}},
    {"TheGangFormsForTheFirstTimeOnlyAfterTheSidecarRegisters",
     {{"gathering, register worker:0 worker:1", "worker:0 told none"}, {"register board:0", "worker:0 told start 1"}}},
    {"AJobRestartAlsoRestartsASidecarThatOutlivesGangRestarts",
     {{"job worker*2 board*1:sidecar:outlives pytorch job=1: running, report worker:0 fails 1", "board:0 told stop"},
      {"report worker:1 board:0 killed, exit board:0 worker:0 worker:1, all-granted, register worker:0#2 worker:1#2",
       "worker:0#2 told none"},
      {"all-registered", "board:0#2 told start 2"},
      {"all-run, report board:0#2 fails 1", "attempt_ended"}}},
    {"AnIncompleteGangAlsoReturnsTheSidecarsContainerAfterTheHoldTimeout",
     {{"+yarn: running, report worker:0 fails 1, exit worker:1, pass 30s",
       "restart_decided attempt_ended; board:0 told stop"}}},
    {"AGangKeepsItsContainersIfOnlyTheSidecarLacksAContainer",
     {{"+yarn: begun, exit board:0, pass 30s", "lacks restart_decided"}}},
    {"ASidecarThatOutlivesAGangRestartKeepsRunningUnderANewMaster",
     {{"begun, master 2, register board:0 running 100, register worker:0#2 worker:1#2",
       "worker:1#2 told start 2; board:0 is running"}}},
};
TABLE_TEST(JobOutlivingTest, kOutliving,
           Script("worker*2 board*1:sidecar:outlives pytorch gang=2",
                  "running, report worker:0 fails 1, report worker:1 killed"));

}  // namespace
}  // namespace tony::am
