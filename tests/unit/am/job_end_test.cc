// Tests how a job without restarts ends by itself: which tasks count, what the verdict names, and that nothing is left
// behind.
#include <gmock/gmock.h>

#include "am/core/judgement.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kEnding[] = {
    {"TheSuccessOfOneOfTwoTrackedTasksKeepsTheJobRunning",
     {{"running, report worker:0 success",
       "attempt_ended; state RUNNING; worker:0 state done; worker:0 ended with success; worker:0 pid 0; worker:0 "
       "ended"}}},
    {"AnEndedTaskIsReleased", {{"running, report worker:0 success", "orders tell worker:0#1; worker:0 told release"}}},
    {"UntrackedTasksAndSidecarsAreStoppedWhenTheLastTrackedTaskSucceeds",
     {{"running, report worker:0 worker:1 success",
       "attempt_ended job_stopping; orders tell worker:1#1, tell board:0#1, tell ps:0#1; ps:0 told stop; ps:0 grace "
       "10s; state STOPPING"}}},
    {"TheJobEndsOnlyWhenEveryContainerHasExited",
     {{"running, report worker:0 worker:1 success, report board:0 ps:0 killed, exit worker:1",
       "container_ended; verdict any"},
      {"exit {board:0|worker:0}", "container_ended; verdict any"},
      {"exit {worker:0|board:0}", "container_ended; verdict any"},
      {"exit ps:0",
       "container_ended job_ended; orders end job; state SUCCEEDED; ended; verdict success; ps:0 is killed"}}},
    {"ARepeatedContainerExitChangesNothing",
     {{"running, report worker:0 success, exit worker:0", "container_ended"},
      {"exit worker:0", "nothing; state RUNNING"}}},
    {"TheFailureOfATrackedTaskFailsTheJobAtOnce",
     {{"running, report worker:1 fails 3",
       "attempt_ended job_stopping; orders tell worker:1#1, tell board:0#1, tell ps:0#1, tell worker:0#1; verdict "
       "FAILED"}}},
    {"TheVerdictNamesTheTaskThatFailedFirst",
     {{"running, report worker:1 fails 3, report worker:0 fails 1, report ps:0 fails 2, report board:0 killed, exit "
       "board:0 ps:0 worker:0 worker:1",
       "state FAILED; verdict of worker:1 on node-worker-1 exit 3 stderr Traceback; worker:0 is failed"}}},
    {"TheFailureOfAnUntrackedTaskFailsTheJob",
     {{"running, report ps:0 fails 9", "attempt_ended job_stopping; verdict of ps:0"}}},
    {"TheSuccessOfAnUntrackedTaskKeepsTheJobRunning",
     {{"running, report ps:0 success", "attempt_ended"}, {"report worker:0 success", "attempt_ended"}}},
    {"ASidecarsFailureIsIgnored",
     {{"running, report board:0 fails 1", "attempt_ended"}, {"report worker:0 worker:1 success", "verdict SUCCEEDED"}}},
    {"ASidecarThatEndsBeforeTheGangHasFormedFailsTheJob",
     {{"gathering, register worker:0, exit board:0",
       "attempt_ended container_ended job_stopping; verdict of board:0 infra"}}},
    {"ASidecarThatEndsWhileOtherTasksAwaitContainersFailsTheJob",
     {{"start, grant board:0, exit board:0",
       "attempt_ended container_ended job_stopping attempt_ended attempt_ended attempt_ended job_ended; state "
       "FAILED"}}},
    {"TheVerdictIsInfraIfAnExecutorExitsWithoutAReport",
     {{"running, exit worker:0 by SEGV",
       "attempt_ended container_ended job_stopping; worker:0 is lost; verdict infra says `~signal 11`"}}},
    {"TheVerdictContainsTheReasonWhyAnExecutorCouldNotStart",
     {{"gathering, exit worker:0 unseen says `start /x/tony-executor: permission denied`",
       "verdict infra says `~start /x/tony-executor: permission denied`"}}},
    {"AnOutcomeThatTheExecutorLeftOnDiskReplacesAMissingReport",
     {{"running, exit worker:0 kept success", "attempt_ended container_ended; worker:0 ended with success"}}},
    {"AnOutcomeLeftOnDiskByAnUnregisteredExecutorIsIgnored",
     {{"gathering, exit worker:0 kept success", "worker:0 is lost; verdict infra"}}},
    {"AReportedOutcomeIsNotReplacedByAnOutcomeFoundOnDisk",
     {{"running, report worker:0 success, exit worker:0 kept fails 1",
       "container_ended; worker:0 ended with success"}}},
    {"ATaskCanSucceedBeforeItsFirstHeartbeat",
     {{"job worker*1: gathering, all-registered, report worker:0 success",
       "attempt_ended job_stopping; verdict SUCCEEDED"}}},
    {"APreemptedTaskCountsAsLostAndTheVerdictSaysPreempted",
     {{"running, report worker:0 preempted", "worker:0 is lost; verdict preempted"}}},
    {"ATaskThatReportsTheOutcomeKilledWithoutAStopCommandFailsTheJob",
     {{"running, report worker:0 killed", "worker:0 is failed; verdict killed FAILED"}}},
};
TABLE_TEST(JobEndTest, kEnding, Script("board*1:sidecar ps*1:untracked worker*2 lost=0"));

// ---- Kills, and the steps that end all that was started: stop, grace period, kill of the container.

const TestRow kStopping[] = {
    {"AKillBeforeAnyContainerIsGrantedEndsTheJobAtOnce",
     {{"start, kill changed my mind",
       "job_stopping attempt_ended attempt_ended job_ended; orders withdraw worker:0#1 worker:1#1, end job; state "
       "KILLED; verdict killed says `changed my mind`"}}},
    {"TheVerdictNamesAnotherUserWhoKilledTheJob",
     {{"start, kill by `root (uid 0)` the machine is needed",
       "verdict says `killed by root (uid 0): the machine is needed`"}}},
    {"AContainerGrantedAfterAKillIsReturned",
     {{"start, grant worker:0, kill, grant worker:1", "nothing; orders kill c-worker-1"}}},
    {"AKillStopsContainersWhoseExecutorsHaveNotRegistered",
     {{"gathering, launched worker:0, register worker:1, kill",
       "job_stopping; orders tell worker:0#1, term c-worker-0, tell worker:1#1"}}},
    {"AKilledJobDoesNotWaitForReportsOfUnregisteredExecutors",
     {{"gathering, kill, exit worker:0 worker:1", "state KILLED; worker:0 is killed; worker:0 outcome killed"}}},
    // The executor receives the order to stop with its first Await. Without the order it would report repeatedly until
    // its container is killed.
    {"AnExecutorThatRegistersAfterAKillReceivesAStopCommandAndCanReport",
     {{"gathering, kill, register worker:0", "worker:0 told stop"},
      {"report worker:0 killed", "attempt_ended; worker:0 told release"}}},
    {"AKilledJobStopsEveryExecutorAndEndsWhenAllExecutorsHaveExited",
     {{"running, kill enough",
       "job_stopping; orders tell worker:0#1, tell worker:1#1; worker:0 told stop; worker:0 grace 10s; worker:0 is "
       "stopping; runs"},
      {"end worker:0 worker:1 killed", "over; state KILLED; verdict says `enough`"}}},
    {"AKillRequestCanOverrideTheConfiguredGracePeriod", {{"running, kill within 0 enough", "worker:0 grace 0"}}},
    {"ATaskThatReportsSuccessAfterAKillStillCountsAsSucceeded",
     {{"running, kill, report worker:0 success, report worker:1 fails 1",
       "worker:0 is succeeded; worker:1 is failed; verdict KILLED"}}},
    {"ATaskThatIsLostAfterTheStopCommandCountsAsKilled",
     {{"running, kill, report worker:0 infra, exit worker:1", "worker:0 worker:1 is killed"}}},
    {"CommandNumbersGrowFromStartToStopToRelease",
     {{"running, note worker:0", "worker:0 numbered above 0"},
      {"kill", "worker:0 numbered above noted"},
      {"note worker:0, kill within 100ms faster", "worker:0 numbered above noted"},
      {"note worker:0, report worker:0 killed", "worker:0 numbered above noted"}}},
    {"ASecondKillCanShortenTheGracePeriod",
     {{"running, kill first, note worker:0, kill within 500ms second",
       "stop_hurried; orders tell worker:0#1, tell worker:1#1; worker:0 numbered above noted; worker:0 grace 500ms; "
       "verdict says `first`"}}},
    {"ASecondKillWithAnEqualOrLongerGracePeriodChangesNothing",
     {{"running, kill, kill", "nothing"}, {"kill within 20s patience", "nothing"}}},
    {"AKillDoesNotChangeTheVerdictOfASucceededJobThatIsStopping",
     {{"job worker*1 ps*1:untracked: running, report worker:0 success, kill within 0 too late",
       "stop_hurried; verdict SUCCEEDED"}}},
    {"AKillAfterTheEndOfTheJobDoesNothing",
     {{"running, kill first, end worker:0 worker:1 killed, note, kill within 0 second", "unchanged"}}},
    {"AContainerIsKilledIfItsExecutorDoesNotReportWithinTheGracePeriod",
     {{"running, kill, report worker:1 killed, exit worker:1, pass 10s", "nothing"},
      {"deadline", "container_kill_ordered; orders kill c-worker-0; deadline none"},
      {"exit worker:0", "state KILLED"}}},
    {"ASecondKillWithAShorterGracePeriodKillsTheContainerEarlier",
     {{"running, kill, note, kill within 0 faster", "deadline noted-10s"}}},
    {"AContainerIsKilledIfItsExecutorDoesNotExitAfterReportingTheOutcome",
     {{"running, report worker:0 success", "deadline later"},
      {"deadline", "container_kill_ordered; orders kill c-worker-0; state RUNNING"}}},
    {"EachContainerThatOutlivesTheGracePeriodIsKilledOnce",
     {{"running, kill, deadline", "orders kill c-worker-0"},
      {"deadline", "orders kill c-worker-1"},
      {"pass 60s", "nothing"}}},
    {"AnOutcomeReportIsAcceptedEvenAfterTheContainerKillWasOrdered",
     {{"running, kill, deadline, report worker:0 fails 2", "attempt_ended; worker:0 ended with fails 2"}}},
};
TABLE_TEST(JobStopTest, kStopping, Script("worker*2 grace=10s"));

TEST(JobStopTest, AReleaseCommandHasAHigherNumberThanTheStopCommandEvenAfter2000Kills) {
  JobDriver driver(JobBuilder().Role("worker", 2).Build());
  driver.Running();
  driver.Kill("slowly", Duration(5000));
  for (int i = 1; i < 2000; ++i) driver.Kill("faster", Duration(5000 - i));
  const Command stop = driver.CommandFor("worker:0");
  driver.Report("worker:0", Killed());
  EXPECT_LT(stop.number, driver.CommandFor("worker:0").number);
}

// ---- Roles in which some tasks may fail, or are not needed.

const TestRow kCompleting[] = {
    {"AToleratedFailureIsJournalledAndReleasesTheTasksExecutor",
     {{"running, report shard:2 fails 3",
       "attempt_ended failure_tolerated; shard:2 told release; shard:1 told start 1; state RUNNING; tolerated 1"}}},
    {"TheVerdictNamesTheFirstFailureOfARoleWithTooManyFailures",
     {{"running, report shard:2 fails 3, report shard:0 fails 4",
       "verdict FAILED of shard:2 exit 3 says `~2 of 4 tasks of role shard have failed "
       "(tony.shard.min-succeeded=3)`"}}},
    {"TheRemainingTasksOfARoleAreStoppedWhenTheRoleReachesMinSucceeded",
     {{"running, report shard:0 shard:1 shard:3 success",
       "attempt_ended role_finished; shard:2 told stop; collector:0 told start 1; progress 80%"},
      {"report shard:2 killed",
       "attempt_ended; shard:2 is killed; shard:2 outcome says `~3 of 4 tasks of role shard have succeeded`"},
      {"report collector:0 success",
       "verdict SUCCEEDED says `4 of 5 tracked tasks succeeded; 1 was not needed`; tolerated 0"}}},
    {"AFailureIsIgnoredOnceTheRoleHasReachedMinSucceeded",
     {{"+task=5: running, report shard:0 shard:1 shard:3 success, report shard:2 fails 1",
       "attempt_ended; state RUNNING; shard:2 told release"}}},
    {"ATaskInBackOffIsNotRestartedOnceItsRoleHasReachedMinSucceeded",
     {{"+task=5 backoff=5s/5s: running, report shard:2 fails 1, register shard:2#2, heartbeat shard:2#2, report "
       "shard:2#2 fails 1",
       "shard:2 state backoff"},
      {"report shard:0 shard:1 shard:3 success", "shard:2 state done; shard:2#2 told release"},
      {"pass 60s", "lacks restart_began"}}},
    {"ATaskWithoutAContainerCountsAsDoneOnceItsRoleReachesMinSucceeded",
     {{"job shard*3:succeeds=2 worker*1 fcfs: start, grant shard:0, register shard:0, heartbeat shard:0, grant "
       "shard:1, register shard:1, heartbeat shard:1, report shard:0 shard:1 success",
       "attempt_ended role_finished attempt_ended; shard:2 state done; state RUNNING"}}},
    {"AnUnregisteredTaskCountsAsKilledOnceItsRoleHasReachedMinSucceeded",
     {{"job shard*2:succeeds=1 worker*1 fcfs: start, all-granted, register shard:0, heartbeat shard:0, report shard:0 "
       "success, exit shard:1 kept infra says `the task's executor received SIGTERM`",
       "shard:1 is killed; shard:1 outcome killed says `~1 of 2 tasks of role shard have succeeded`"}}},
    {"AFailureIsToleratedOnlyAfterTheTasksRestartBudgetIsUsedUp",
     {{"+task=1: running, report shard:2 fails 1", "has restart_decided"},
      {"register shard:2#2, heartbeat shard:2#2, report shard:2#2 fails 1", "has failure_tolerated"}}},
    {"AGangRestartAlsoRestartsTasksThatHadFailedOrWereNotNeeded",
     {{"job collector*1 shard*4:succeeds=2 standalone lost=0 gang=1: running, report shard:2 oom, report shard:0 "
       "shard:1 success",
       "shard:3 told stop"},
      {"report shard:3 killed, report collector:0 fails 1",
       "tolerated 0; progress 0%; shard:0 shard:1 shard:2 shard:3 attempt 1"},
      {"exit shard:0 shard:1 shard:2 shard:3, all-granted, all-registered, all-run",
       "shard:3 attempt 2; shard:3#2 told start 2"}}},
    {"AToleratedFailureOfTheLastRunningTaskCompletesTheJob",
     {{"job shard*2:fails=2 standalone: running, report shard:0 success, report shard:1 fails 2",
       "attempt_ended failure_tolerated job_stopping; verdict SUCCEEDED says `1 of 2 tracked tasks succeeded; 1 task "
       "failed: shard:1 failed on node-shard-1: exit code 2 (user_error)`"}}},
    {"AFailureInACollectiveIsToleratedOnlyAfterTheSettleTime",
     {{"job worker*3:fails=3 pytorch settle=300ms: running, report worker:1 fails 1", "attempt_ended"},
      {"pass 300ms", "failure_tolerated"},
      {"pass 1s", "nothing"}}},
    {"TonysCompletionRuleToleratesAWorkersFailureButNotTheChiefsFailure",
     {{"job worker*3 standalone tonys-rule: running, report worker:1 fails 1", "has failure_tolerated"},
      {"report worker:0 fails 2", "verdict of worker:0 says `~; an earlier failure: worker:1 failed`"}}},
    {"ASidecarsFailureFailsTheJobIfMinFailedIsSet",
     {{"job board*1:sidecar:fails=1 worker*1 standalone: running, report board:0 fails 1", "verdict of board:0"}}},
    {"ANewMasterRestoresToleratedFailuresAndFinishedRoles",
     {{"job collector*1 shard*4:succeeds=2 standalone: running, report shard:2 fails 3, report shard:0 shard:1 "
       "success, master 2",
       "tolerated 1; shard:3 told stop"},
      {"report shard:3 killed, report collector:0 success",
       "verdict says `~3 of 5 tracked tasks succeeded; 1 task failed: shard:2`"}}},
    {"NoFailureIsToleratedBeforeTheGangHasFormed", {{"+lost=0: gathering, exit shard:2", "verdict of shard:2"}}},
};
TABLE_TEST(JobCompletionTest, kCompleting, Script("collector*1 shard*4:succeeds=3 standalone"));

// ---- When a member of a collective dies, the other members fail because of it, and their reports may come first. The
// core delays the judgement of a failure that would end the job, so that the failure that explains it can arrive.

const TestRow kSettling[] = {
    {"AFailureWithoutARestartBudgetFailsTheJobAfterTheSettleTime",
     {{"running, report worker:1 fails 1", "attempt_ended; worker:1 told none; worker:0 told start 1; deadline +300ms"},
      {"pass 299ms", "nothing"},
      {"pass 1ms", "job_stopping; verdict of worker:1 user_error; worker:1 told release; worker:0 told stop"}}},
    {"TheVerdictNamesTheFirstOfSeveralFailures",
     {{"running, report worker:1 fails 1, wait 100ms, report worker:0 fails 2, deadline", "verdict of worker:1"}}},
    {"AFailureCausesAGangRestartIfAnotherTaskIsLostWithinTheSettleTime",
     {{"running, report worker:1 fails 1, wait 299ms, exit worker:0",
       "attempt_ended container_ended restart_decided; restart gang free of worker:0#1"},
      {"report worker:2 killed", "worker:1 told next 2; worker:0 told release"},
      {"all-granted, all-registered", "worker:1#2 told start 2; verdict none"}}},
    {"AFailureCausesARestartAtOnceIfARestartBudgetIsLeft",
     {{"+gang=1: running, report worker:1 fails 1", "attempt_ended restart_decided"}}},
    {"AnOomFailureFailsTheJobWithoutWaitingForTheSettleTime",
     {{"running, report worker:1 oom", "attempt_ended job_stopping"}}},
    {"TheFailureOfTheOnlyTaskFailsTheJobWithoutWaitingForTheSettleTime",
     {{"job worker*1 pytorch settle=300ms: running, report worker:0 fails 1", "attempt_ended job_stopping"}}},
    {"TheJobFailsWithoutWaitingForTheSettleTimeIfTheLastRunningTaskFails",
     {{"running, report worker:0 worker:1 success, report worker:2 fails 1", "attempt_ended job_stopping"}}},
    {"TheJobFailsWithoutWaitingForTheSettleTimeWhenAllTasksHaveFailed",
     {{"running, report worker:0 fails 1, report worker:1 fails 2, report worker:2 fails 3",
       "attempt_ended job_stopping; verdict any"}}},
    {"TheFailureOfAStandaloneTaskFailsTheJobWithoutWaitingForTheSettleTime",
     {{"job worker*3 settle=300ms standalone: running, report worker:0 fails 1", "attempt_ended job_stopping"}}},
    {"TheVerdictIsKilledIfAKillArrivesWithinTheSettleTime",
     {{"running, report worker:1 fails 1, kill enough", "job_stopping; verdict KILLED; worker:1 told release"}}},
    {"TheSettleTimeEndsAtTheSameTimeUnderANewMaster",
     {{"running, report worker:1 fails 1, standstill 299ms, master 2", "epoch_began; worker:1 told none"},
      {"pass 1ms", "job_stopping; verdict of worker:1"}}},
    {"ANewMasterThatStartsAfterTheSettleTimeFailsTheJobAtOnce",
     {{"running, report worker:1 fails 1, standstill 300ms, master 2", "epoch_began job_stopping"}}},
    {"TheSettleTimeIsTenTimesAsLongForAFailureBlamedOnAPeer",
     {{"running, report worker:0 fails 1 peer", "attempt_ended; deadline +3s"},
      {"deadline", "job_stopping; verdict of worker:0"}}},
    {"TheVerdictNamesALaterFailureInsteadOfAFailureBlamedOnAPeer",
     {{"running, report worker:0 fails 1 peer, wait 2400ms, report worker:2 fails 3", "deadline +300ms"},
      {"deadline", "job_stopping; verdict of worker:2"}}},
    {"TheVerdictNamesALaterFailureWhoseOwnSettleTimeIsNotOver",
     {{"running, report worker:0 fails 1 peer, wait 2900ms, report worker:2 fails 3, pass 100ms",
       "verdict of worker:2"}}},
    {"TheVerdictNamesALaterOomInsteadOfAFailureBlamedOnAPeer",
     {{"running, report worker:0 fails 1 peer, report worker:2 oom", "verdict of worker:2"}}},
    {"ARestartNamesALaterFailureAsCauseInsteadOfAFailureBlamedOnAPeer",
     {{"+gang=1: running, report worker:0 fails 1 peer", "attempt_ended"},
      {"report worker:2 fails 3", "restart of worker:2#1"}}},
    {"TheSettleTimeDelaysTheRestartAfterATransientFailureBlamedOnAPeer",
     {{"running, report worker:0 fails 1 peer transient", "attempt_ended"}, {"deadline", "has restart_decided"}}},
    {"TheVerdictNamesTheOnlyFailureThatIsNotBlamedOnAPeer",
     {{"running, report worker:0 fails 1 peer, report worker:1 fails 3, report worker:2 fails 1 peer",
       "verdict of worker:1"}}},
    {"FailuresBlamedOnPeersDoNotExtendTheSettleTimeOfTheFirstFailure",
     {{"job worker*5 pytorch settle=300ms: running, report worker:3 fails 1 peer, wait 10ms, report worker:0 fails 1 "
       "peer, wait 10ms, report worker:1 fails 1 peer, wait 10ms, deadline",
       "verdict of worker:3"}}},
    {"TheVerdictNamesTheFirstFailureIfAllAreBlamedOnPeers",
     {{"running, report worker:1 fails 1 peer, wait 10ms, report worker:0 fails 1 peer, wait 10ms, report worker:2 "
       "fails 1 peer, wait 10ms",
       "verdict of worker:1"}}},
    {"ASidecarsFailureDoesNotShortenTheSettleTime",
     {{"+board*1:sidecar: running, report worker:0 board:0 fails 1 peer", "verdict none"}}},
    {"TheVerdictNamesATaskWithoutHeartbeatsAsTheProbableCause",
     {{"running, wait 4s, heartbeat worker:0 worker:2, pass 1s, report worker:0 fails 1 peer, pass 3s",
       "verdict says `~; worker:1 sends no heartbeats`"}}},
    {"TheVerdictNamesTheTaskThatExitedFirstAsTheProbableCause",
     {{"running, report worker:2 success, report worker:0 fails 1 peer, deadline",
       "verdict says `~; worker:2 had ended with exit code 0`"}}},
    {"TheVerdictNamesTheTaskWhoseAddressIsInTheErrorMessage",
     {{"running, report worker:0 fails 1 peer says `node-worker-1:4001: Connection refused`, deadline",
       "verdict says `~; this address belongs to worker:1 (running)`"}}},
    {"TheVerdictNamesTheTaskOfTheRankThatMissedABarrier",
     {{"running, report worker:0 fails 1 hung peer says `[Rank 0]: Rank 2 failed to pass monitoredBarrier in 1000 ms`, "
       "deadline",
       "verdict says `~; these tasks did not take part: worker:2 (running)`"}}},
    {"TheVerdictNamesTheLastRunningTaskIfTheOtherTasksFailedInACollective",
     {{"running, report worker:2 fails 1 peer, report worker:0 fails 1 hung peer says `Watchdog caught collective "
       "operation timeout`, deadline",
       "verdict of worker:0 says `~; these tasks did not take part: worker:1 (running) (hung)`"}}},
    {"AnAddressInAnErrorMatchesATaskOnlyIfTheWholePortMatches",
     {{"running, report worker:0 fails 1 peer says `node-worker-1:40017: Connection refused`, deadline",
       "verdict says `!the address is`"}}},
    {"TheSettleTimeContinuesWhenTheFailedTasksContainerExits",
     {{"running, report worker:1 fails 1, exit worker:1", "container_ended"}, {"deadline", "job_stopping"}}},
};
TABLE_TEST(JobSettleTest, kSettling, Script("worker*3 pytorch settle=300ms"));

TEST(JobSettleTest, RanksThatMissedACollectiveAreParsedFromErrorMessages) {
  using testing::ElementsAre;
  EXPECT_THAT(SilentRanks("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 1000 ms"), ElementsAre(1, 3));
  EXPECT_THAT(
      SilentRanks("lagging/dead/mismatched ranks that caused the desync are:\n\t   - [2] joined but didn't join"),
      ElementsAre(2));
  EXPECT_THAT(SilentRanks("Timed out waiting for ranks: 1, 2 within 60 s"), ElementsAre(1, 2));
  EXPECT_THAT(SilentRanks("Connection closed by peer [127.0.0.1]:36341"), ElementsAre());
  EXPECT_THAT(SilentRanks("waiting for ranks 99999999999"), ElementsAre());
}

TEST(JobSettleTest, RanksAreNumberedOverTheProcessesOfAllTrackedTasks) {
  JobSpec spec = JobBuilder().Role("worker", 3).Role("board", 1, Completion::kSidecar).Build();
  for (RoleSpec& role : spec.roles) role.processes = role.name == "worker" ? 2 : 1;
  EXPECT_EQ(TaskOfRank(spec, 0), (TaskId{"worker", 0}));
  EXPECT_EQ(TaskOfRank(spec, 3), (TaskId{"worker", 1}));
  EXPECT_EQ(TaskOfRank(spec, 6), std::nullopt);
}

}  // namespace
}  // namespace tony::am
