// Roles that wait until others have succeeded, or are ready.
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kPrepared[] = "data*1 database*1:untracked worker*2:waits=data pytorch suspect=1h lost-after=2h";

const TestRow kDepending[] = {
    {"ContainersAreAskedForWhenTheTurnOfTheirRoleHasCome",
     {{"start", "orders request data:0#1 database:0#1"},
      {"all-granted, all-registered, all-run", "data:0 told start 1; worker:0 state waiting; worker:0 waits data"},
      {"report data:0 success",
       "attempt_ended containers_requested; also request worker:0#1 worker:1#1; worker:0 waits"}}},
    {"TheTasksOfALaterRoleStartTogetherAndKnowWhoIsThere",
     {{"begun, place worker:0", "worker:0 told none"},
      {"grant worker:1, launched worker:1, register worker:1",
       "orders tell worker:0#1, tell worker:1#1; worker:0 told start 1; worker:0 knows data*1 database*1 worker*2; "
       "database:0 knows data*1 database*1"}}},
    {"AChainOfAnyDepthRunsInItsOrder",
     {{"job a*1:waits=b b*1:waits=c c*1:waits=d d*1: running", "c:0 is new"},
      {"report d:0 success, place c:0", "c:0 told start 1; b:0 is new"},
      {"heartbeat c:0, report c:0 success, place b:0", "b:0 told start 1; a:0 is new"},
      {"heartbeat b:0, report b:0 success, place a:0", "a:0 told start 1"},
      {"heartbeat a:0, report a:0 success", "verdict SUCCEEDED"}}},
    {"ARoleWaitsForEveryTaskOfEveryRoleBeforeIt",
     {{"job data*2 index*1 worker*1:waits=data:waits=index: running", "worker:0 waits data, index"},
      {"report data:0 success, report index:0 success", "worker:0 is new"},
      {"report data:1 success", "has containers_requested"}}},
    {"AFailedPreparationFailsTheJobAndNothingElseIsAskedFor",
     {{"+lost=0: running, report data:0 fails 3", "lacks containers_requested; verdict of data:0"}}},
    {"AJobThatIsKilledBetweenTheStagesEndsWithoutTheSecond",
     {{"begun, kill", "also withdraw worker:0#1 worker:1#1"}, {"end database:0 killed", "ended"}}},
    {"EachRolesLimitsCountFromItsOwnTurn",
     {{"+allocation=30s registration=20s: running, wait 100s, report data:0 success, exit data:0, pass 29999ms",
       "nothing"},
      {"pass 1ms", "job_stopping attempt_ended attempt_ended; verdict says `~missing worker:0, worker:1`"}}},
    // ---- restarts
    {"WhatHasPreparedDoesNotStartAgainWithTheGang",
     {{"+gang=1: begun, place worker:0 worker:1, all-run, report worker:0 fails 3",
       "restart for database:0+worker:0+worker:1"},
      {"report worker:1 database:0 killed, register database:0#2 worker:0#2 worker:1#2",
       "worker:0#2 told start 2; state RUNNING"},
      {"report worker:0#2 worker:1#2 success", "verdict SUCCEEDED"}}},
    {"AGangRestartOfTheFirstStageTouchesNothingOfTheSecond",
     {{"+gang=1: running, report data:0 fails 3", "restart for data:0+database:0"}}},
    {"ATaskThatIsLostBeforeItsRoleHasStartedIsReplacedAloneAndWaitedFor",
     {{"begun, place worker:0, exit worker:0",
       "attempt_ended container_ended restart_decided restart_began; state RUNNING"},
      {"place worker:1", "worker:1 told none"},
      {"place worker:0#2", "worker:0#2 worker:1 told start 1; worker:1 knows data*1 database*1 worker*2"}}},
    {"WhoEndsBeforeItsRoleHasStartedFailsTheJobEvenAsASidecar",
     {{"job board*1:sidecar:waits=data data*1 worker*1:waits=data lost=0: running, report data:0 success, place "
       "board:0, report board:0 fails 1",
       "verdict of board:0"}}},
    {"ATaskOfAnEarlierStageThatStartsAgainMeanwhileIsToldOfNobodyWhoIsStillToStart",
     {{"+database*1:untracked:scope=task task=1: running, report data:0 success, place worker:0, report database:0 "
       "fails 3, register database:0#2",
       "database:0#2 told start 1; database:0#2 knows data*1 database*1"}}},
    {"OnYarnWhoMissesContainersGivesItsOwnBackAndNoOthers",
     {{"+yarn: begun, grant worker:0, pass 29999ms", "nothing"},
      {"pass 1ms", "restart for worker:0+worker:1; database:0 is running"},
      {"exit worker:0", "also request worker:0#2 worker:1#2"},
      {"place worker:0#2 worker:1#2", "worker:1#2 told start 1"}}},
    {"OnYarnOneThatWaitsForAnotherContainerIsMissingToo",
     {{"+yarn: begun, place worker:0, exit worker:0, grant worker:1, pass 30s", "restart for worker:0+worker:1"}}},
    {"OnYarnWhoMissesNoContainerGivesNoneBack",
     {{"+yarn: begun, place worker:0, grant worker:1, pass 30s", "nothing"}}},
    // ---- FCFS
    {"FirstComeFirstServedRolesWaitForOthersToo",
     {{"job data*2 worker*2:waits=data fcfs: start", "also request data:0#1 data:1#1"},
      {"all-granted, all-registered, all-run, report data:0 data:1 success", "also request worker:0#1 worker:1#1"},
      {"place worker:1", "worker:1 told start 1"}}},
    // ---- ready
    {"WhoWaitsForAnotherToBeReadyHasItsContainerAndStartsInTheTurnThatItIs",
     {{"job head*1 worker*2:ready=head: start", "orders request head:0#1 worker:0#1 worker:1#1"},
      {"all-granted, all-registered",
       "head:0 told start 1; head:0 knows head*1 worker*2; worker:0 told none; worker:0 waits head (ready)"},
      {"publish head:0 READY=here",
       "values_published stage_opened; orders tell worker:0#1, tell worker:1#1; worker:0 values head:0.READY=here; "
       "worker:0 waits"}}},
    {"FirstComeFirstServedOneStartsOnceTheOtherIsReadyAndIsToldWhereThatIs",
     {{"job head*1 worker*2:ready=head fcfs: start, place worker:0", "worker:0 told none"},
      {"place head:0", "head:0 told start 1; head:0 knows head*1; head:0 reads ~node-head-0:4000"},
      {"publish head:0 READY=", "worker:0 told start 1; worker:0 knows head*1; worker:0 reads ~node-head-0:4000"},
      {"grant worker:1, launched worker:1, register worker:1",
       "attempt_registered stage_opened; worker:1 told start 1"}}},
    {"EachWaitsForItsOwnAlone",
     {{"job head*1 worker*2:ready=head board*1:ready=store store*1: gathering, all-registered, publish store:0 READY=",
       "board:0 told start 1; worker:0 told none"},
      {"publish head:0 READY=", "worker:1 told start 1"}}},
    {"OneThatEndsBeforeItWasReadyFails",
     {{"job head*1 worker*2:ready=head: gathering, all-registered, report head:0 success",
       "verdict says `~without having published READY`"}}},
    {"WhoWaitsForAReadyOneIsAskedForWithIt",
     {{"job head*1:waits=data worker*2:ready=head data*1: start", "orders request data:0#1"},
      {"all-granted, all-registered, all-run, report data:0 success", "also request head:0#1 worker:0#1 worker:1#1"},
      {"place head:0 worker:0 worker:1", "head:0 told start 1; worker:0 told none"}}},
};
TABLE_TEST(JobDependenciesTest, kDepending, Script(kPrepared, "running, end data:0 success"));

TEST(JobDependenciesTest, WhereverTheMasterDiesTheJobEndsAlike) {
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

TEST(JobDependenciesTest, AJournalThatOpensWhatIsOpenIsDamaged) {
  JobDriver driver(JobOf(kPrepared));
  driver.Running();
  driver.Report("data:0", Success());
  const auto fits = [&](DecisionBody body) { return driver.job().Evolve({driver.now(), std::move(body)}).ok(); };
  EXPECT_FALSE(fits(ContainersRequested{{AttemptOf("worker:0")}}));
  EXPECT_FALSE(fits(ContainersRequested{}));
  EXPECT_FALSE(fits(StageOpened{.role = "worker"}));
}

}  // namespace
}  // namespace tony::am
