// Tasks that start when those before them have published what they are to know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/gang_run.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr Duration kPublishLimit{30'000};
const PublishedValues kHere{{"ADDRESS", "first:1"}}, kThere{{"ADDRESS", "second:2"}};

JobBuilder InTwoStages() {
  const Timers patient = {.suspect_after = std::chrono::hours(1), .lost_after = std::chrono::hours(2)};
  return JobBuilder()
      .Role("driver", 1)
      .Role("worker", 2)
      .Framework(FrameworkKind::kStaged)
      .RegistrationTimeout(kPublishLimit)
      .With(patient);
}
JobBuilder InThreeStages() { return InTwoStages().Role("ps", 2, Completion::kUntracked); }

std::map<TaskId, PublishedValues> ValuesToldTo(const JobDriver& driver, std::string_view task) {
  const auto cluster = ClusterSpecFromJson(driver.CommandFor(task).cluster_spec);
  CHECK(cluster.ok());
  return cluster->values;
}

// The gang has formed and the driver runs.
JobDriver GangFormed(const JobBuilder& builder) {
  JobDriver driver(builder.Build());
  driver.Gathering().RegisterAll();
  driver.Heartbeat("driver:0");
  return driver;
}

TEST(JobStagesTest, OnlyTheFirstStageStartsWithTheGang) {
  const JobDriver driver = GangFormed(InTwoStages());
  EXPECT_EQ(driver.Told("driver:0"), "start 1");
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kRegistered);
  EXPECT_THAT(ValuesToldTo(driver, "driver:0"), IsEmpty());
}

TEST(JobStagesTest, TheNextStageStartsInTheTurnThatPublishesTheLastValueAndIsToldIt) {
  JobDriver driver = GangFormed(InTwoStages());
  const TurnResult turn = driver.Publish("driver:0", kHere);
  EXPECT_THAT(Decisions(turn), ElementsAre("values_published", "stage_opened"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_THAT(ValuesToldTo(driver, "worker:1"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

TEST(JobStagesTest, AStageWaitsForEveryTaskOfEveryStageBeforeIt) {
  JobDriver driver = GangFormed(InThreeStages());
  EXPECT_THAT(Decisions(driver.Publish("driver:0", kHere)), ElementsAre("values_published", "stage_opened"));
  EXPECT_EQ(driver.Told("ps:1"), "start 1");
  EXPECT_THAT(Decisions(driver.Publish("ps:0", kHere)), ElementsAre("values_published"));
  EXPECT_EQ(driver.Told("worker:0"), "none");
  const TurnResult turn = driver.Publish("ps:1", kThere);
  EXPECT_THAT(Decisions(turn), ElementsAre("values_published", "stage_opened"));
  EXPECT_THAT(
      ValuesToldTo(driver, "worker:0"),
      ElementsAre(Pair(TaskId{"driver", 0}, kHere), Pair(TaskId{"ps", 0}, kHere), Pair(TaskId{"ps", 1}, kThere)));
  EXPECT_THAT(ValuesToldTo(driver, "ps:0"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

TEST(JobStagesTest, AStageThatNobodyHasToPublishForOpensWithTheGang) {
  JobDriver driver(JobBuilder().Role("worker", 2).Framework(FrameworkKind::kStaged).Build());
  driver.Gathering().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
}

TEST(JobStagesTest, TheFirstValueOfAnAttemptCounts) {
  JobDriver driver = GangFormed(InTwoStages());
  driver.Publish("driver:0", kHere);
  for (const PublishedValues& again : {kHere, kThere}) {
    const TurnResult turn = driver.Publish("driver:0", again);
    EXPECT_FALSE(turn.refusal);
    EXPECT_THAT(Decisions(turn), IsEmpty());
  }
  EXPECT_THAT(ValuesToldTo(driver, "worker:0"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

TEST(JobStagesTest, WhatTheFrameworkDoesNotNameIsNoValue) {
  JobDriver driver = GangFormed(InTwoStages());
  EXPECT_THAT(Decisions(driver.Publish("driver:0", {{"COLOUR", "red"}})), IsEmpty());
  driver.Publish("driver:0", {{"ADDRESS", "first:1"}, {"COLOUR", "red"}});
  EXPECT_THAT(ValuesToldTo(driver, "worker:0"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
  EXPECT_THAT(Decisions(driver.Publish("worker:0", kHere)), IsEmpty());
}

TEST(JobStagesTest, NobodyPublishesBeforeItWasToldToStart) {
  JobDriver driver = GangFormed(InThreeStages());
  const TurnResult turn = driver.Publish("ps:0", kHere);
  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
}

TEST(JobStagesTest, TheNextMasterKnowsWhatWasPublished) {
  JobDriver driver = GangFormed(InThreeStages());
  driver.Publish("driver:0", kHere);
  driver.Publish("ps:0", kHere);
  const Command before = driver.CommandFor("ps:1");
  driver.Replay();
  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began"));
  EXPECT_EQ(driver.CommandFor("ps:1"), before);
  driver.Publish("ps:1", kThere);
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
}

TEST(JobStagesTest, AStageThatOnlyHadToBeOpenedIsByTheNextMaster) {
  JobDriver driver = GangFormed(InTwoStages());
  driver.Publish("driver:0", kHere);
  driver.Replay(driver.journal().size() - 1);
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_THAT(Decisions(driver.Start({2})), ElementsAre("epoch_began", "stage_opened"));
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
}

// ---- ends

TEST(JobStagesTest, ASuccessThatLeavesOthersWaitingIsAFailure) {
  JobDriver driver = GangFormed(InTwoStages());
  EXPECT_THAT(Decisions(driver.Report("driver:0", Success())), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kUserError);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("it ended without having published ADDRESS"));
}

TEST(JobStagesTest, OfOneThatCouldNotReportNobodyKnowsWhetherItHadPublished) {
  JobDriver driver = GangFormed(InTwoStages());
  const TurnResult turn = driver.Exit("driver:0", Success());
  EXPECT_EQ(Find<AttemptEnded>(turn)->outcome.cls, OutcomeClass::kInfra);
  EXPECT_EQ(Find<RestartDecided>(turn)->charged, false);
}

TEST(JobStagesTest, WhoEndsBeforeTheGangHasFormedIsMissedAndNotSilent) {
  JobDriver driver(InTwoStages().Build());
  driver.Gathering().Register("driver:0");
  const TurnResult turn = driver.Report("driver:0", Success());
  EXPECT_TRUE(Find<AttemptEnded>(turn)->outcome.Succeeded());
  EXPECT_EQ(Find<RestartDecided>(turn)->charged, false);
}

TEST(JobStagesTest, ASuccessAfterItsValuesIsOne) {
  JobDriver driver = GangFormed(InTwoStages());
  driver.Publish("driver:0");
  EXPECT_THAT(Decisions(driver.Report("driver:0", Success())), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.StateOf("driver:0"), AttemptState::kSucceeded);
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
}

TEST(JobStagesTest, ValuesAreNotWaitedForForEver) {
  JobDriver driver = GangFormed(InThreeStages());
  EXPECT_THAT(Decisions(driver.Pass(kPublishLimit - Duration(1))), IsEmpty());
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kTimeout);
  EXPECT_EQ(
      driver.job().verdict()->message,
      "not every task published what others wait for within 30.0 s (tony.container.registration.timeout): missing "
      "driver:0 (ADDRESS)");
}

TEST(JobStagesTest, EachStageHasItsOwnTimeToPublish) {
  JobDriver driver = GangFormed(InThreeStages());
  driver.Wait(kPublishLimit / 2);
  driver.Publish("driver:0");
  driver.Publish("ps:1");
  EXPECT_THAT(Decisions(driver.Pass(kPublishLimit - Duration(1))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("job_stopping"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("missing ps:0 (ADDRESS)"));
}

TEST(JobStagesTest, AJobThatIsStoppedOpensNoStage) {
  JobDriver driver = GangFormed(InTwoStages());
  driver.Kill();
  EXPECT_EQ(driver.Told("worker:0"), "stop");
  EXPECT_THAT(Decisions(driver.Publish("driver:0")), ElementsAre("values_published"));
  EXPECT_EQ(driver.Told("worker:0"), "stop");
}

// ---- restarts

TEST(JobStagesTest, AGangThatFormsAgainHasNoneOfTheValuesOfBefore) {
  JobDriver driver = GangFormed(InTwoStages().Restarts(RestartScope::kGang, 1));
  driver.Publish("driver:0", kHere);
  driver.Report("driver:0", Failure(3));
  for (const auto* task : {"worker:0", "worker:1"}) driver.Report(task, Killed());
  for (const auto* task : {"driver:0#2", "worker:0#2", "worker:1#2"}) driver.Register(task);
  EXPECT_EQ(driver.Told("driver:0#2"), "start 2");
  EXPECT_EQ(driver.Told("worker:0#2"), "none");
  driver.Publish("driver:0#2", kThere);
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
  EXPECT_THAT(ValuesToldTo(driver, "worker:0#2"), ElementsAre(Pair(TaskId{"driver", 0}, kThere)));
}

TEST(JobStagesTest, ATaskOfALaterStageThatStartsAgainIsToldWhatStands) {
  JobDriver driver = GangFormed(InTwoStages().Restarts(RestartScope::kTask, 1));
  driver.Publish("driver:0", kHere);
  driver.Heartbeat("worker:0");
  driver.Report("worker:0", Failure(3));
  EXPECT_THAT(Decisions(driver.Register("worker:0#2")), ElementsAre("attempt_registered", "stage_opened"));
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_THAT(ValuesToldTo(driver, "worker:0#2"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

// The job asks for what the framework warns of: those who run keep what they were told.
TEST(JobStagesTest, WhereATaskOfAnEarlierStageStartsAgainAloneItsValuesAreVoidForThoseWhoStartLater) {
  JobSpec spec = InTwoStages().Restarts(RestartScope::kTask, 5).Build();
  for (RoleSpec& role : spec.roles) role.restart_scope = RestartScope::kTask;
  JobDriver driver(spec);
  driver.Gathering().RegisterAll();
  driver.Publish("driver:0", kHere);
  for (const auto* task : {"driver:0", "worker:0", "worker:1"}) driver.Heartbeat(task);
  driver.Report("driver:0", Failure(3));
  driver.Report("worker:0", Failure(3));
  driver.Register("driver:0#2");
  driver.Register("worker:0#2");
  EXPECT_EQ(driver.Told("driver:0#2"), "start 1");
  EXPECT_EQ(driver.Told("worker:0#2"), "none");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  driver.Publish("driver:0#2", kThere);
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_THAT(ValuesToldTo(driver, "worker:0#2"), ElementsAre(Pair(TaskId{"driver", 0}, kThere)));
  EXPECT_THAT(ValuesToldTo(driver, "worker:1"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

TEST(JobStagesTest, WhoWaitsForItsStageAndEndsDoesNotStartWithIt) {
  JobDriver driver = GangFormed(InTwoStages());
  driver.Exit("worker:0");
  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kLost);
  const TurnResult turn = driver.Publish("driver:0");
  EXPECT_THAT(Orders(turn), testing::Not(testing::Contains("tell worker:0#1")));
}

TEST(JobStagesTest, NobodyIsToldWhatAnotherOfItsOwnStagePublishes) {
  JobSpec spec = InThreeStages().Restarts(RestartScope::kTask, 1).Build();
  for (RoleSpec& role : spec.roles) role.restart_scope = RestartScope::kTask;
  JobDriver driver(spec);
  driver.Gathering().RegisterAll();
  driver.Publish("driver:0", kHere);
  driver.Publish("ps:0", kThere);
  driver.Heartbeat("ps:1");
  driver.Report("ps:1", Failure(3));
  driver.Register("ps:1#2");
  EXPECT_EQ(driver.Told("ps:1#2"), "start 1");
  EXPECT_THAT(ValuesToldTo(driver, "ps:1#2"), ElementsAre(Pair(TaskId{"driver", 0}, kHere)));
}

// ---- damage

TEST(JobStagesTest, AJournalThatPublishesTwiceOrOpensAStageForNobodyIsDamaged) {
  JobDriver driver = GangFormed(InTwoStages());
  const auto fits = [&](DecisionBody body) { return driver.job().Evolve({driver.now(), std::move(body)}).ok(); };
  EXPECT_FALSE(fits(StageOpened{1}));
  EXPECT_FALSE(fits(ValuesPublished{AttemptOf("driver:0#2"), kHere}));
  driver.Publish("driver:0");
  EXPECT_FALSE(fits(ValuesPublished{AttemptOf("driver:0"), kHere}));
  EXPECT_FALSE(fits(StageOpened{2}));
}

// ---- masters that die at every decision

TEST(JobStagesTest, WhereverTheMasterDiesTheJobEndsAlike) {
  const JobSpec spec = InThreeStages().Build();
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

}  // namespace
}  // namespace tony::am
