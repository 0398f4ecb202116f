// Roles that wait until others have succeeded, or are ready.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/gang_run.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr Dependency::Until kReady = Dependency::Until::kReady;

// data prepares, two workers train, beside them a database that the first stage starts and nobody waits for.
JobBuilder Prepared() {
  return JobBuilder()
      .Role("data", 1)
      .Role("database", 1, Completion::kUntracked)
      .Role("worker", 2)
      .Waits("worker", "data")
      .Framework(FrameworkKind::kPytorch)
      .With({.suspect_after = std::chrono::hours(1), .lost_after = std::chrono::hours(2)});
}

// data has succeeded.
JobDriver DataThere(const JobBuilder& builder, std::string_view scheduler = "local") {
  JobSpec spec = builder.Build();
  spec.scheduler = scheduler;
  JobDriver driver(spec);
  driver.Running();
  driver.Report("data:0", Success());
  driver.Exit("data:0");
  return driver;
}

void Place(JobDriver& driver, std::initializer_list<const char*> tasks) {
  for (const char* task : tasks) {
    driver.Grant(task);
    driver.ConfirmLaunch(task);
    driver.Register(task);
  }
}

ClusterSpec ToldTo(const JobDriver& driver, std::string_view task) {
  const auto cluster = ClusterSpecFromJson(driver.CommandFor(task).cluster_spec);
  CHECK(cluster.ok());
  return *cluster;
}

TEST(JobDependenciesTest, ContainersAreAskedForWhenTheTurnOfTheirRoleHasCome) {
  JobDriver driver(Prepared().Build());
  EXPECT_THAT(Orders(driver.Start()), ElementsAre("request data:0#1 database:0#1"));
  driver.GrantAll().RegisterAll().RunAll();
  EXPECT_EQ(driver.Told("data:0"), "start 1");
  EXPECT_EQ(driver.StatusOf("worker:0").state, "waiting");
  EXPECT_EQ(driver.StatusOf("worker:0").waits_for, "data");
  const TurnResult turn = driver.Report("data:0", Success());
  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "containers_requested"));
  EXPECT_THAT(Orders(turn), Contains("request worker:0#1 worker:1#1"));
  EXPECT_EQ(driver.StatusOf("worker:0").waits_for, "");
}

TEST(JobDependenciesTest, TheTasksOfALaterRoleStartTogetherAndKnowWhoIsThere) {
  JobDriver driver = DataThere(Prepared());
  Place(driver, {"worker:0"});
  EXPECT_EQ(driver.Told("worker:0"), "none");
  driver.Grant("worker:1");
  driver.ConfirmLaunch("worker:1");
  EXPECT_THAT(Orders(driver.Register("worker:1")), UnorderedElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_EQ(ToldTo(driver, "worker:0").roles.size(), 3u);
  EXPECT_EQ(ToldTo(driver, "database:0").roles.count("worker"), 0u);
}

TEST(JobDependenciesTest, AChainOfAnyDepthRunsInItsOrder) {
  JobDriver driver(JobBuilder()
                       .Role("a", 1)
                       .Role("b", 1)
                       .Role("c", 1)
                       .Role("d", 1)
                       .Waits("a", "b")
                       .Waits("b", "c")
                       .Waits("c", "d")
                       .Build());
  driver.Running();
  for (const auto& [first, second] : {std::pair("d:0", "c:0"), std::pair("c:0", "b:0"), std::pair("b:0", "a:0")}) {
    EXPECT_EQ(driver.StateOf(second), AttemptState::kNew);
    driver.Report(first, Success());
    Place(driver, {second});
    EXPECT_EQ(driver.Told(second), "start 1");
    driver.Heartbeat(second);
  }
  driver.Report("a:0", Success());
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobDependenciesTest, ARoleWaitsForEveryTaskOfEveryRoleBeforeIt) {
  JobDriver driver(JobBuilder()
                       .Role("data", 2)
                       .Role("index", 1)
                       .Role("worker", 1)
                       .Waits("worker", "data")
                       .Waits("worker", "index")
                       .Build());
  driver.Running();
  EXPECT_EQ(driver.StatusOf("worker:0").waits_for, "data, index");
  driver.Report("data:0", Success());
  driver.Report("index:0", Success());
  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kNew);
  EXPECT_THAT(Decisions(driver.Report("data:1", Success())), Contains("containers_requested"));
}

TEST(JobDependenciesTest, AFailedPreparationFailsTheJobAndNothingElseIsAskedFor) {
  JobDriver driver(Prepared().NoRestarts().Build());
  driver.Running();
  const TurnResult turn = driver.Report("data:0", Failure(3));
  EXPECT_THAT(Decisions(turn), Not(Contains("containers_requested")));
  EXPECT_EQ(driver.job().verdict()->attempt->task.role, "data");
}

TEST(JobDependenciesTest, AJobThatIsKilledBetweenTheStagesEndsWithoutTheSecond) {
  JobDriver driver = DataThere(Prepared());
  EXPECT_THAT(Orders(driver.Kill()), Contains(HasSubstr("withdraw worker:0#1 worker:1#1")));
  driver.Report("database:0", Killed());
  driver.Exit("database:0");
  EXPECT_TRUE(driver.job().Ended());
}

TEST(JobDependenciesTest, EachRolesLimitsCountFromItsOwnTurn) {
  JobDriver driver(Prepared().AllocationTimeout(Duration(30'000)).RegistrationTimeout(Duration(20'000)).Build());
  driver.Running();
  driver.Wait(Duration(100'000));
  driver.Report("data:0", Success());
  driver.Exit("data:0");
  EXPECT_THAT(Decisions(driver.Pass(Duration(29'999))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("job_stopping", "attempt_ended", "attempt_ended"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("missing worker:0, worker:1"));
}

// ---- restarts

TEST(JobDependenciesTest, WhatHasPreparedDoesNotStartAgainWithTheGang) {
  JobDriver driver = DataThere(Prepared().Restarts(RestartScope::kGang, 1));
  Place(driver, {"worker:0", "worker:1"});
  driver.RunAll();
  const TurnResult turn = driver.Report("worker:0", Failure(3));
  EXPECT_THAT(Find<RestartDecided>(turn)->tasks,
              ElementsAre(TaskId{"database", 0}, TaskId{"worker", 0}, TaskId{"worker", 1}));
  driver.Report("worker:1", Killed());
  driver.Report("database:0", Killed());
  for (const auto* task : {"database:0#2", "worker:0#2", "worker:1#2"}) driver.Register(task);
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
  EXPECT_EQ(driver.job().state(), JobState::kRunning);
  for (const auto* task : {"worker:0#2", "worker:1#2"}) driver.Report(task, Success());
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobDependenciesTest, AGangRestartOfTheFirstStageTouchesNothingOfTheSecond) {
  JobDriver driver(Prepared().Restarts(RestartScope::kGang, 1).Build());
  driver.Running();
  const TurnResult turn = driver.Report("data:0", Failure(3));
  EXPECT_THAT(Find<RestartDecided>(turn)->tasks, ElementsAre(TaskId{"data", 0}, TaskId{"database", 0}));
}

TEST(JobDependenciesTest, ATaskThatIsLostBeforeItsRoleHasStartedIsReplacedAloneAndWaitedFor) {
  JobDriver driver = DataThere(Prepared());
  Place(driver, {"worker:0"});
  EXPECT_THAT(Decisions(driver.Exit("worker:0")),
              ElementsAre("attempt_ended", "container_ended", "restart_decided", "restart_began"));
  EXPECT_EQ(driver.job().state(), JobState::kRunning);
  Place(driver, {"worker:1"});
  EXPECT_EQ(driver.Told("worker:1"), "none");
  Place(driver, {"worker:0#2"});
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_EQ(ToldTo(driver, "worker:1").roles.at("worker").size(), 2u);
}

TEST(JobDependenciesTest, WhoEndsBeforeItsRoleHasStartedFailsTheJobEvenAsASidecar) {
  JobDriver driver(JobBuilder()
                       .NoRestarts()
                       .Role("board", 1, Completion::kSidecar)
                       .Role("data", 1)
                       .Role("worker", 1)
                       .Waits("worker", "data")
                       .Waits("board", "data")
                       .Build());
  driver.Running();
  driver.Report("data:0", Success());
  Place(driver, {"board:0"});
  driver.Report("board:0", Failure(1));
  ASSERT_TRUE(driver.job().verdict());
  EXPECT_EQ(driver.job().verdict()->attempt->task.role, "board");
}

TEST(JobDependenciesTest, ATaskOfAnEarlierStageThatStartsAgainMeanwhileIsToldOfNobodyWhoIsStillToStart) {
  JobBuilder builder = Prepared().Restarts(RestartScope::kTask, 1);
  JobSpec spec = builder.Build();
  for (RoleSpec& role : spec.roles) role.restart_scope = RestartScope::kTask;
  JobDriver driver(spec);
  driver.Running();
  driver.Report("data:0", Success());
  Place(driver, {"worker:0"});
  driver.Report("database:0", Failure(3));
  driver.Register("database:0#2");
  EXPECT_EQ(driver.Told("database:0#2"), "start 1");
  EXPECT_EQ(ToldTo(driver, "database:0#2").roles.count("worker"), 0u);
}

TEST(JobDependenciesTest, OnYarnWhoMissesContainersGivesItsOwnBackAndNoOthers) {
  JobDriver driver = DataThere(Prepared(), kYarnScheduler);
  driver.Grant("worker:0");
  EXPECT_THAT(Decisions(driver.Pass(driver.job().spec().yarn.gang_hold - Duration(1))), IsEmpty());
  const TurnResult turn = driver.Pass(Duration(1));
  EXPECT_THAT(Find<RestartDecided>(turn)->tasks, ElementsAre(TaskId{"worker", 0}, TaskId{"worker", 1}));
  EXPECT_EQ(driver.StateOf("database:0"), AttemptState::kRunning);
  EXPECT_THAT(Orders(driver.Exit("worker:0")), Contains("request worker:0#2 worker:1#2"));
  Place(driver, {"worker:0#2", "worker:1#2"});
  EXPECT_EQ(driver.Told("worker:1#2"), "start 1");
}

TEST(JobDependenciesTest, OnYarnOneThatWaitsForAnotherContainerIsMissingToo) {
  JobDriver driver = DataThere(Prepared(), kYarnScheduler);
  Place(driver, {"worker:0"});
  driver.Exit("worker:0");
  driver.Grant("worker:1");
  const TurnResult turn = driver.Pass(driver.job().spec().yarn.gang_hold);
  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_THAT(Find<RestartDecided>(turn)->tasks, ElementsAre(TaskId{"worker", 0}, TaskId{"worker", 1}));
}

TEST(JobDependenciesTest, OnYarnWhoMissesNoContainerGivesNoneBack) {
  JobDriver driver = DataThere(Prepared(), kYarnScheduler);
  Place(driver, {"worker:0"});
  driver.Grant("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(driver.job().spec().yarn.gang_hold)), IsEmpty());
}

// ---- FCFS

TEST(JobDependenciesTest, FirstComeFirstServedRolesWaitForOthersToo) {
  JobDriver driver(JobBuilder().Role("data", 2).Role("worker", 2).Waits("worker", "data").Fcfs().Build());
  EXPECT_THAT(Orders(driver.Start()), Contains("request data:0#1 data:1#1"));
  driver.GrantAll().RegisterAll().RunAll();
  driver.Report("data:0", Success());
  EXPECT_THAT(Orders(driver.Report("data:1", Success())), Contains("request worker:0#1 worker:1#1"));
  Place(driver, {"worker:1"});
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
}

// ---- ready

JobBuilder Ray() { return JobBuilder().Role("head", 1).Role("worker", 2).Waits("worker", "head", kReady); }

TEST(JobDependenciesTest, WhoWaitsForAnotherToBeReadyHasItsContainerAndStartsInTheTurnThatItIs) {
  JobDriver driver(Ray().Build());
  EXPECT_THAT(Orders(driver.Start()), ElementsAre("request head:0#1 worker:0#1 worker:1#1"));
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("head:0"), "start 1");
  EXPECT_EQ(ToldTo(driver, "head:0").roles.at("worker").size(), 2u);
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_EQ(driver.StatusOf("worker:0").waits_for, "head (ready)");
  const TurnResult turn = driver.Publish("head:0", {{"READY", "here"}});
  EXPECT_THAT(Decisions(turn), ElementsAre("values_published", "stage_opened"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_THAT(ToldTo(driver, "worker:0").values,
              ElementsAre(Pair(TaskId{"head", 0}, PublishedValues{{"READY", "here"}})));
  EXPECT_EQ(driver.StatusOf("worker:0").waits_for, "");
}

TEST(JobDependenciesTest, FirstComeFirstServedOneStartsOnceTheOtherIsReadyAndIsToldWhereThatIs) {
  JobDriver driver(Ray().Fcfs().Build());
  driver.Start();
  Place(driver, {"worker:0"});
  EXPECT_EQ(driver.Told("worker:0"), "none");
  Place(driver, {"head:0"});
  EXPECT_EQ(driver.Told("head:0"), "start 1");
  EXPECT_THAT(ToldTo(driver, "head:0").roles, ElementsAre(Pair("head", ElementsAre(EndpointOf("head:0")))));
  driver.Publish("head:0", {{"READY", ""}});
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_THAT(ToldTo(driver, "worker:0").roles, ElementsAre(Pair("head", ElementsAre(EndpointOf("head:0")))));
  driver.Grant("worker:1");
  driver.ConfirmLaunch("worker:1");
  EXPECT_THAT(Decisions(driver.Register("worker:1")), ElementsAre("attempt_registered", "stage_opened"));
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
}

TEST(JobDependenciesTest, EachWaitsForItsOwnAlone) {
  JobDriver driver(Ray().Role("board", 1).Role("store", 1).Waits("board", "store", kReady).Build());
  driver.Gathering().RegisterAll();
  driver.Publish("store:0", {{"READY", ""}});
  EXPECT_EQ(driver.Told("board:0"), "start 1");
  EXPECT_EQ(driver.Told("worker:0"), "none");
  driver.Publish("head:0", {{"READY", ""}});
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
}

TEST(JobDependenciesTest, OneThatEndsBeforeItWasReadyFails) {
  JobDriver driver(Ray().Build());
  driver.Gathering().RegisterAll();
  driver.Report("head:0", Success());
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("without having published READY"));
}

TEST(JobDependenciesTest, WhoWaitsForAReadyOneIsAskedForWithIt) {
  JobDriver driver(Ray().Role("data", 1).Waits("head", "data").Build());
  EXPECT_THAT(Orders(driver.Start()), ElementsAre("request data:0#1"));
  driver.GrantAll().RegisterAll().RunAll();
  EXPECT_THAT(Orders(driver.Report("data:0", Success())), Contains("request head:0#1 worker:0#1 worker:1#1"));
  Place(driver, {"head:0", "worker:0", "worker:1"});
  EXPECT_EQ(driver.Told("head:0"), "start 1");
  EXPECT_EQ(driver.Told("worker:0"), "none");
}

// ---- masters that die at every decision

TEST(JobDependenciesTest, WhereverTheMasterDiesTheJobEndsAlike) {
  const JobSpec spec = Prepared().Build();
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

// ---- damage

TEST(JobDependenciesTest, AJournalThatOpensWhatIsOpenIsDamaged) {
  JobDriver driver = DataThere(Prepared());
  const auto fits = [&](DecisionBody body) { return driver.job().Evolve({driver.now(), std::move(body)}).ok(); };
  EXPECT_FALSE(fits(ContainersRequested{{AttemptOf("worker:0")}}));
  EXPECT_FALSE(fits(ContainersRequested{}));
  EXPECT_FALSE(fits(StageOpened{.role = "worker"}));
}

}  // namespace
}  // namespace tony::am
