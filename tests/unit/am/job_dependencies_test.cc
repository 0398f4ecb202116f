// Tests roles that wait until other roles have succeeded or are ready.
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kPrepared[] = "data*1 database*1:untracked worker*2:waits=data pytorch suspect=1h lost-after=2h";

const TestRow kDepending[] = {
    {"ARoleRequestsContainersOnlyAfterItsPrerequisiteRolesHaveSucceeded",
     {{"start", "orders request data:0#1 database:0#1"},
      {"all-granted, all-registered, all-run", "data:0 told start 1; worker:0 state waiting; worker:0 waits data"},
      {"report data:0 success",
       "attempt_ended containers_requested; also request worker:0#1 worker:1#1; worker:0 waits"}}},
    {"TasksOfADependentRoleStartTogetherAndReceiveTheAddressesOfStartedTasks",
     {{"begun, place worker:0", "worker:0 told none"},
      {"grant worker:1, launched worker:1, register worker:1",
       "orders tell worker:0#1, tell worker:1#1; worker:0 told start 1; worker:0 knows data*1 database*1 worker*2; "
       "database:0 knows data*1 database*1"}}},
    {"AChainOfFourDependentRolesRunsInOrder",
     {{"job a*1:waits=b b*1:waits=c c*1:waits=d d*1: running", "c:0 is new"},
      {"report d:0 success, place c:0", "c:0 told start 1; b:0 is new"},
      {"heartbeat c:0, report c:0 success, place b:0", "b:0 told start 1; a:0 is new"},
      {"heartbeat b:0, report b:0 success, place a:0", "a:0 told start 1"},
      {"heartbeat a:0, report a:0 success", "verdict SUCCEEDED"}}},
    {"ARoleWaitsForEveryTaskOfItsPrerequisiteRoles",
     {{"job data*2 index*1 worker*1:waits=data:waits=index: running", "worker:0 waits data, index"},
      {"report data:0 success, report index:0 success", "worker:0 is new"},
      {"report data:1 success", "has containers_requested"}}},
    {"AFailedRoleFailsTheJobBeforeContainersOfDependentRolesAreRequested",
     {{"+lost=0: running, report data:0 fails 3", "lacks containers_requested; verdict of data:0"}}},
    {"AKillWithdrawsTheContainerRequestsOfADependentRole",
     {{"begun, kill", "also withdraw worker:0#1 worker:1#1"}, {"end database:0 killed", "ended"}}},
    {"TheAllocationTimeoutOfADependentRoleStartsWithItsContainerRequest",
     {{"+allocation=30s registration=20s: running, wait 100s, report data:0 success, exit data:0, pass 29999ms",
       "nothing"},
      {"pass 1ms", "job_stopping attempt_ended attempt_ended; verdict says `~missing worker:0, worker:1`"}}},
    // ---- restarts
    {"AGangRestartExcludesASucceededPrerequisiteRole",
     {{"+gang=1: begun, place worker:0 worker:1, all-run, report worker:0 fails 3",
       "restart for database:0+worker:0+worker:1"},
      {"report worker:1 database:0 killed, register database:0#2 worker:0#2 worker:1#2",
       "worker:0#2 told start 2; state RUNNING"},
      {"report worker:0#2 worker:1#2 success", "verdict SUCCEEDED"}}},
    {"AGangRestartExcludesRolesWhoseContainersAreNotRequestedYet",
     {{"+gang=1: running, report data:0 fails 3", "restart for data:0+database:0"}}},
    {"ARoleStartsOnlyAfterALostTaskOfTheRoleIsReplaced",
     {{"begun, place worker:0, exit worker:0",
       "attempt_ended container_ended restart_decided restart_began; state RUNNING"},
      {"place worker:1", "worker:1 told none"},
      {"place worker:0#2", "worker:0#2 worker:1 told start 1; worker:1 knows data*1 database*1 worker*2"}}},
    {"ADependentSidecarThatEndsBeforeItsRoleStartsFailsTheJob",
     {{"job board*1:sidecar:waits=data data*1 worker*1:waits=data lost=0: running, report data:0 success, place "
       "board:0, report board:0 fails 1",
       "verdict of board:0"}}},
    {"ARestartedTaskReceivesOnlyTheAddressesOfStartedTasks",
     {{"+database*1:untracked:scope=task task=1: running, report data:0 success, place worker:0, report database:0 "
       "fails 3, register database:0#2",
       "database:0#2 told start 1; database:0#2 knows data*1 database*1"}}},
    {"AnIncompleteRoleOnYarnReturnsOnlyItsOwnContainersAfterTheHoldTimeout",
     {{"+yarn: begun, grant worker:0, pass 29999ms", "nothing"},
      {"pass 1ms", "restart for worker:0+worker:1; database:0 is running"},
      {"exit worker:0", "also request worker:0#2 worker:1#2"},
      {"place worker:0#2 worker:1#2", "worker:1#2 told start 1"}}},
    {"ARoleOnYarnReturnsItsContainersIfALostContainerIsNotReplacedInTime",
     {{"+yarn: begun, place worker:0, exit worker:0, grant worker:1, pass 30s", "restart for worker:0+worker:1"}}},
    {"ARoleOnYarnDoesNotReturnAContainerWhoseTaskIsBeingStopped",
     {{"+yarn: begun, place worker:0, preempt worker:0 60s", "worker:0 told stop"}, {"pass 30s", "nothing"}}},
    {"ACompleteRoleOnYarnKeepsItsContainers", {{"+yarn: begun, place worker:0, grant worker:1, pass 30s", "nothing"}}},
    {"APreemptedTaskDoesNotDelayTheStartOfItsRole",
     {{"begun, place worker:0, preempt worker:0 5s, place worker:1", "worker:0 told stop; worker:1 told start 1"},
      {"report worker:0 killed", "restart for database:0+worker:0+worker:1"}}},
    {"APreemptedTaskIsStoppedAtOnceEvenIfItsPrerequisiteRoleIsNotReady",
     {{"job head*1 data*1 worker*2:waits=data:ready=head: start, all-granted, all-registered, all-run, report data:0 "
       "success, place worker:0, preempt worker:0 5s, place worker:1",
       "worker:0 told stop; worker:1 told none"},
      {"publish head:0 READY=", "worker:0 told stop; worker:1 told start 1"}}},
    // ---- FCFS
    {"ARoleWaitsForItsPrerequisiteRolesEvenInFcfsMode",
     {{"job data*2 worker*2:waits=data fcfs: start", "also request data:0#1 data:1#1"},
      {"all-granted, all-registered, all-run, report data:0 data:1 success", "also request worker:0#1 worker:1#1"},
      {"place worker:1", "worker:1 told start 1"}}},
    // ---- waiting until a role is ready
    {"ATaskStartsOnlyWhenItsPrerequisiteTaskPublishesReady",
     {{"job head*1 worker*2:ready=head: start", "orders request head:0#1 worker:0#1 worker:1#1"},
      {"all-granted, all-registered",
       "head:0 told start 1; head:0 knows head*1 worker*2; worker:0 told none; worker:0 waits head (ready)"},
      {"publish head:0 READY=here",
       "values_published stage_opened; orders tell worker:0#1, tell worker:1#1; worker:0 values head:0.READY=here; "
       "worker:0 waits"}}},
    {"ATaskInFcfsModeReceivesTheAddressOfItsPrerequisiteTask",
     {{"job head*1 worker*2:ready=head fcfs: start, place worker:0", "worker:0 told none"},
      {"place head:0", "head:0 told start 1; head:0 knows head*1; head:0 reads ~node-head-0:4000"},
      {"publish head:0 READY=", "worker:0 told start 1; worker:0 knows head*1; worker:0 reads ~node-head-0:4000"},
      {"grant worker:1, launched worker:1, register worker:1",
       "attempt_registered stage_opened; worker:1 told start 1"}}},
    {"EachRoleStartsAsSoonAsItsPrerequisiteRoleIsReady",
     {{"job head*1 worker*2:ready=head board*1:ready=store store*1: gathering, all-registered, publish store:0 READY=",
       "board:0 told start 1; worker:0 told none"},
      {"publish head:0 READY=", "worker:1 told start 1"}}},
    {"ATaskThatSucceedsWithoutPublishingTheAwaitedReadySignalFailsTheJob",
     {{"job head*1 worker*2:ready=head: gathering, all-registered, report head:0 success",
       "verdict says `~the task ended without publishing READY`"}}},
    {"ARoleRequestsContainersWithoutWaitingUntilItsPrerequisiteIsReady",
     {{"job head*1:waits=data worker*2:ready=head data*1: start", "orders request data:0#1"},
      {"all-granted, all-registered, all-run, report data:0 success", "also request head:0#1 worker:0#1 worker:1#1"},
      {"place head:0 worker:0 worker:1", "head:0 told start 1; worker:0 told none"}}},
};
TABLE_TEST(JobDependenciesTest, kDepending, Script(kPrepared, "running, end data:0 success"));

TEST(JobDependenciesTest, AJobWithDependentRolesSucceedsEvenIfTheMasterDiesAfterAnyDecision) {
  const JobSpec spec = JobOf(kPrepared);
  const GangPlan plan = {.ends = {{{"data", 0}, Success()}, {{"worker", 0}, Success()}, {{"worker", 1}, Success()}}};
  GangRun whole({.spec = spec, .plan = plan});
  whole.ToTheEnd();
  ASSERT_EQ(whole.job().state(), JobState::kSucceeded);
  for (size_t decisions = 1; decisions <= whole.journal().size(); ++decisions) {
    for (const bool after_acting : {false, true}) {
      GangRun run({.spec = spec, .plan = plan, .deaths = {{decisions, after_acting}}});
      run.ToTheEnd();
      EXPECT_EQ(run.job().state(), JobState::kSucceeded) << decisions;
    }
  }
}

TEST(JobDependenciesTest, AJournalWithAPartialContainerRequestOrAPrematureRoleStartIsRejected) {
  JobDriver driver(JobOf(kPrepared));
  driver.Running();
  driver.Report("data:0", Success());
  const auto fits = [&](DecisionBody body) { return driver.job().Evolve({driver.now(), std::move(body)}).ok(); };
  EXPECT_FALSE(fits(ContainersRequested{{AttemptOf("worker:0")}}));
  EXPECT_FALSE(fits(ContainersRequested{}));
  EXPECT_FALSE(fits(StageOpened{.role = "worker"}));
}

// ---- Stages: tasks that start after the tasks of earlier stages have published the values that they need.

constexpr char kInTwoStages[] = "driver*1 worker*2 staged registration=30s suspect=1h lost-after=2h";

const TestRow kStaged[] = {
    {"OnlyTasksOfTheFirstStageStartWhenTheGangHasFormed",
     {{"begun", "driver:0 told start 1; worker:0 told none; worker:0 is registered; driver:0 values"}}},
    {"TheNextStageStartsWithThePublishedValuesOnceTheLastValueIsPublished",
     {{"begun, publish driver:0 ADDRESS=first:1",
       "values_published stage_opened; orders tell worker:0#1, tell worker:1#1; worker:1 told start 1; worker:1 values "
       "driver:0.ADDRESS=first:1"}}},
    {"AStageWaitsForTheValuesOfEveryTaskInAllEarlierStages",
     {{"+ps*2:untracked: begun, publish driver:0 ADDRESS=first:1", "values_published stage_opened; ps:1 told start 1"},
      {"publish ps:0 ADDRESS=first:1", "values_published; worker:0 told none"},
      {"publish ps:1 ADDRESS=second:2",
       "values_published stage_opened; worker:0 values driver:0.ADDRESS=first:1 ps:0.ADDRESS=first:1 "
       "ps:1.ADDRESS=second:2; ps:0 values driver:0.ADDRESS=first:1"}}},
    {"AStageThatNeedsNoValuesStartsWhenTheGangHasFormed",
     {{"job worker*2 staged: gathering, all-registered", "worker:0 told start 1"}}},
    {"OnlyTheFirstValueThatAnAttemptPublishesForANameIsKept",
     {{"begun, publish driver:0 ADDRESS=first:1, publish driver:0 ADDRESS=first:1", "nothing"},
      {"publish driver:0 ADDRESS=second:2", "nothing; worker:0 values driver:0.ADDRESS=first:1"}}},
    {"PublishedValuesWithNamesUnknownToTheFrameworkAreIgnored",
     {{"begun, publish driver:0 COLOUR=red", "nothing"},
      {"publish driver:0 ADDRESS=first:1 COLOUR=red", "worker:0 values driver:0.ADDRESS=first:1"},
      {"publish worker:0 ADDRESS=first:1", "nothing"}}},
    {"AValuePublishedBeforeTheTaskHasStartedIsRejected",
     {{"+ps*2:untracked: begun, publish ps:0 ADDRESS=first:1", "refused bad_request"}}},
    {"ANewMasterRestoresPublishedValuesFromTheJournal",
     {{"+ps*2:untracked: begun, publish driver:0 ps:0 ADDRESS=first:1, note ps:1, master 2",
       "epoch_began; ps:1 told as noted"},
      {"publish ps:1 ADDRESS=second:2", "worker:1 told start 1"}}},
    {"ANewMasterStartsAStageIfAllRequiredValuesArePublished",
     {{"begun, publish driver:0 ADDRESS=first:1, replay -1", "worker:0 told none"},
      {"start 2", "epoch_began stage_opened; worker:0 told start 1"}}},
    // ---- ends
    {"ATaskThatSucceedsWithoutPublishingItsValuesFailsTheJob",
     {{"begun, report driver:0 success",
       "attempt_ended job_stopping; verdict user_error says `~the task ended without publishing ADDRESS`"}}},
    {"ASuccessFoundOnDiskCountsAsAnInfraFailureIfPublishedValuesAreMissing",
     {{"begun, exit driver:0 kept success", "end infra; restart free"}}},
    {"ATaskThatSucceedsBeforeTheGangHasFormedRestartsWithoutUsingItsBudget",
     {{"gathering, register driver:0, report driver:0 success", "end success; restart free"}}},
    {"ATaskMayEndSuccessfullyOnceItHasPublishedItsValues",
     {{"begun, publish driver:0, report driver:0 success",
       "attempt_ended; driver:0 is succeeded; worker:0 told start 1"}}},
    {"TheJobFailsIfAStageDoesNotPublishItsValuesWithinTheRegistrationTimeout",
     {{"+ps*2:untracked: begun, pass 29999ms", "nothing"},
      {"deadline",
       "job_stopping; verdict timeout says `some tasks did not publish the values for other tasks within 30.0 s "
       "(tony.container.registration.timeout): missing driver:0 (ADDRESS)`"}}},
    {"TheTimeoutForPublishingValuesStartsAgainWithEachStage",
     {{"+ps*2:untracked: begun, wait 15s, publish driver:0 ps:1, pass 29999ms", "nothing"},
      {"pass 1ms", "job_stopping; verdict says `~missing ps:0 (ADDRESS)`"}}},
    {"AStoppingJobDoesNotStartTheNextStage",
     {{"begun, kill", "worker:0 told stop"}, {"publish driver:0", "values_published; worker:0 told stop"}}},
    // ---- restarts
    {"AGangRestartDiscardsThePublishedValues",
     {{"+gang=1: begun, publish driver:0 ADDRESS=first:1, report driver:0 fails 3, report worker:0 worker:1 killed, "
       "register driver:0#2 worker:0#2 worker:1#2",
       "driver:0#2 told start 2; worker:0#2 told none"},
      {"publish driver:0#2 ADDRESS=second:2", "worker:0#2 told start 2; worker:0#2 values driver:0.ADDRESS=second:2"}}},
    {"ARestartedTaskOfALaterStageReceivesThePublishedValues",
     {{"+task=1: begun, publish driver:0 ADDRESS=first:1, heartbeat worker:0, report worker:0 fails 3, register "
       "worker:0#2",
       "attempt_registered stage_opened; worker:0#2 told start 1; worker:0#2 values driver:0.ADDRESS=first:1"}}},
    // The job uses a setting that the framework warns about. Running tasks keep the values that they received.
    {"ARestartedTaskWaitsForTheNewValueOfARestartedPublisher",
     {{"job driver*1:scope=task worker*2:scope=task staged registration=30s suspect=1h lost-after=2h task=5: "
       "gathering, all-registered, publish driver:0 ADDRESS=first:1, heartbeat driver:0 worker:0 worker:1, report "
       "driver:0 worker:0 fails 3, register driver:0#2 worker:0#2",
       "driver:0#2 told start 1; worker:0#2 told none; worker:1 told start 1"},
      {"publish driver:0#2 ADDRESS=second:2",
       "worker:0#2 told start 1; worker:0#2 values driver:0.ADDRESS=second:2; worker:1 values "
       "driver:0.ADDRESS=first:1"}}},
    {"ATaskLostWhileWaitingForItsStageReceivesNoStartCommand",
     {{"begun, exit worker:0", "worker:0 is lost"}, {"publish driver:0", "without tell worker:0#1"}}},
    {"ATaskDoesNotReceiveValuesPublishedWithinItsOwnStage",
     {{"job driver*1:scope=task worker*2:scope=task staged registration=30s suspect=1h lost-after=2h "
       "ps*2:untracked:scope=task task=1: gathering, all-registered, publish driver:0 ADDRESS=first:1, publish ps:0 "
       "ADDRESS=second:2, heartbeat ps:1, report ps:1 fails 3, register ps:1#2",
       "ps:1#2 told start 1; ps:1#2 values driver:0.ADDRESS=first:1"}}},
};
TABLE_TEST(JobStagesTest, kStaged, Script(kInTwoStages, "gathering, all-registered, heartbeat driver:0"));

TEST(JobStagesTest, AJournalWithARepeatedValueOrAPrematureStageStartIsRejected) {
  JobDriver driver(JobOf(kInTwoStages));
  driver.Gathering().RegisterAll();
  driver.Heartbeat("driver:0");
  const PublishedValues here{{"ADDRESS", "first:1"}};
  const auto fits = [&](DecisionBody body) { return driver.job().Evolve({driver.now(), std::move(body)}).ok(); };
  EXPECT_FALSE(fits(StageOpened{1}));
  EXPECT_FALSE(fits(ValuesPublished{AttemptOf("driver:0#2"), here}));
  driver.Publish("driver:0");
  EXPECT_FALSE(fits(ValuesPublished{AttemptOf("driver:0"), here}));
  EXPECT_FALSE(fits(StageOpened{2}));
}

TEST(JobStagesTest, TheVerdictOfAStagedJobIsTheSameIfTheMasterDiesAfterAnyDecision) {
  const JobSpec spec = JobOf("driver*1 ps*2:untracked worker*2 staged registration=30s suspect=1h lost-after=2h");
  const GangPlan plan = {.ends = {{{"driver", 0}, Success()}, {{"worker", 0}, Success()}, {{"worker", 1}, Success()}}};
  GangRun whole({.spec = spec, .plan = plan});
  whole.ToTheEnd();
  ASSERT_TRUE(whole.job().Ended());
  ASSERT_EQ(whole.job().verdict()->state, FinalState::kSucceeded);
  for (size_t decisions = 0; decisions <= whole.journal().size(); ++decisions) {
    for (const bool after_acting : {false, true}) {
      SCOPED_TRACE(decisions);
      GangRun run({.spec = spec, .plan = plan, .deaths = {{decisions, after_acting}}});
      run.ToTheEnd();
      ASSERT_TRUE(run.job().Ended());
      EXPECT_EQ(run.job().verdict(), whole.job().verdict());
    }
  }
}

// ---- First come, first served: tasks that do not need each other's addresses start as soon as they register.

const TestRow kServed[] = {
    {"ATaskStartsAsSoonAsItHasRegistered",
     {{"start", "state RUNNING"},
      {"grant worker:1, register worker:1", "orders tell worker:1#1; worker:1 told start 1"},
      {"heartbeat worker:1", "attempt_ran; worker:0 is requested"}}},
    {"ATaskInFcfsModeReceivesNoAddressesOfOtherTasks",
     {{"start, grant worker:1, register worker:1", "worker:1 told start 1; worker:1 knows nobody"}}},
    {"ATaskCanSucceedBeforeAnotherTaskHasAContainer",
     {{"start", "state RUNNING"},
      {"grant worker:0, register worker:0, heartbeat worker:0, report worker:0 success", "state RUNNING"},
      {"grant worker:1, register worker:1, heartbeat worker:1, report worker:1 success", "state RUNNING"},
      {"grant worker:2, register worker:2, heartbeat worker:2, report worker:2 success", "verdict SUCCEEDED"}}},
    {"AFailedTaskRestartsAloneAndStartsAsSoonAsItRegisters",
     {{"job worker*3 fcfs tensorflow task=1: running, report worker:0 fails 1", "worker:0 told next 2"},
      {"register worker:0#2", "worker:0#2 worker:1 told start 1; generation 1"}}},
    {"EachTaskStartsAsSoonAsItRegistersAfterAGangRestart",
     {{"+gang=1: running, report worker:0 fails 1", "state RESTARTING"},
      {"report worker:1 worker:2 killed", "state RUNNING"},
      {"register worker:2#2", "worker:2#2 told start 2"}}},
    {"ANewMasterKnowsFromTheJournalWhichTasksHaveStarted",
     {{"start, grant worker:0, register worker:0, grant worker:1, register worker:1, heartbeat worker:1, master 2",
       "worker:0 told start 1; worker:1 is running"},
      {"grant worker:2, register worker:2", "worker:2 told start 1"}}},
    {"ATaskThatExceedsTheRegistrationTimeoutFailsTheJob",
     {{"+registration=10s: start, grant worker:0, pass 10s", "has job_stopping"}}},
};
TABLE_TEST(JobFcfsTest, kServed, Script("worker*3 tensorflow fcfs"));

// ---- Roles that run on after a group of other roles has ended.

const TestRow kGrouped[] = {
    {"TheJobFailsIfARoleOutlivesAnotherRoleByMoreThanTheConfiguredTimeout",
     {{"running, wait 50s, end chief:0 success, pass 9999ms", "nothing"},
      {"deadline",
       "job_stopping; verdict timeout says `~role worker continued for more than 10.0 s after chief had ended "
       "(tony.application.dependency.worker.timeout.after.A)`"}}},
    {"AJobSucceedsWithoutWaitingForARoleThatIsIgnoredAfterItsTimeout",
     {{"job chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, pass 10s",
       "role_left job_stopping; verdict SUCCEEDED; worker:1 told stop"}}},
    {"AJobStillWaitsForRolesThatAreNotIgnored",
     {{"job evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, end "
       "worker:0 success, pass 10s",
       "role_left; worker:1 told start 1"},
      {"report evaluator:0 success", "has job_stopping; verdict SUCCEEDED"}}},
    {"TheFailureOfAnIgnoredRoleStillFailsTheJob",
     {{"job lost=0 evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, "
       "pass 10s, report worker:1 fails 1",
       "verdict FAILED"}}},
    {"ARolesTimeoutStartsWhenAllRolesOfTheConfiguredGroupHaveEnded",
     {{"+worker*2:after=chief+evaluator/10s evaluator*1: running, end chief:0 success, pass 100s", "nothing"},
      {"end evaluator:0 success, pass 10s", "job_stopping"}}},
    // In TonY a second key of the same role replaced the first one.
    {"ARoleWithTwoTimeoutsFailsTheJobWhenEitherTimeoutExpires",
     {{"+worker*2:after=chief/10s:after=evaluator/20s evaluator*1: running, end {chief|evaluator}:0 success, pass "
       "{9999ms|19999ms}",
       "nothing"},
      {"pass 1ms", "job_stopping"}}},
    {"ATaskRestartResetsTheTimeoutOfItsRole",
     {{"job task=1 standalone chief*1 worker*2:after=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, "
       "pass 5s, report worker:0 fails 3, register worker:0#2, heartbeat worker:0#2, pass 9999ms",
       "nothing"},
      {"pass 1ms", "job_stopping"}}},
    {"ANewMasterRestoresIgnoredRoles",
     {{"job evaluator*1 chief*1 worker*2:left=chief/10s suspect=1h lost-after=2h: running, end chief:0 success, pass "
       "10s, master 2, report evaluator:0 success",
       "has job_stopping"}}},
    {"ARoleThatEndsWithinItsTimeoutDoesNotAffectTheVerdict",
     {{"running, end chief:0 success, pass 5s, end worker:0 success, report worker:1 success",
       "has job_stopping; verdict says `all tracked tasks succeeded`"}}},
};
TABLE_TEST(JobGroupTest, kGrouped, Script("chief*1 worker*2:after=chief/10s suspect=1h lost-after=2h"));

}  // namespace
}  // namespace tony::am
