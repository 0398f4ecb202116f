// Tasks that start when those before them have published what they are to know.
#include "tests/unit/am/gang_run.h"
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kInTwoStages[] = "driver*1 worker*2 staged registration=30s suspect=1h lost-after=2h";

const TestRow kStaged[] = {
    {"OnlyTheFirstStageStartsWithTheGang",
     {{"begun", "driver:0 told start 1; worker:0 told none; worker:0 is registered; driver:0 values"}}},
    {"TheNextStageStartsInTheTurnThatPublishesTheLastValueAndIsToldIt",
     {{"begun, publish driver:0 ADDRESS=first:1",
       "values_published stage_opened; orders tell worker:0#1, tell worker:1#1; worker:1 told start 1; worker:1 values "
       "driver:0.ADDRESS=first:1"}}},
    {"AStageWaitsForEveryTaskOfEveryStageBeforeIt",
     {{"+ps*2:untracked: begun, publish driver:0 ADDRESS=first:1", "values_published stage_opened; ps:1 told start 1"},
      {"publish ps:0 ADDRESS=first:1", "values_published; worker:0 told none"},
      {"publish ps:1 ADDRESS=second:2",
       "values_published stage_opened; worker:0 values driver:0.ADDRESS=first:1 ps:0.ADDRESS=first:1 "
       "ps:1.ADDRESS=second:2; ps:0 values driver:0.ADDRESS=first:1"}}},
    {"AStageThatNobodyHasToPublishForOpensWithTheGang",
     {{"job worker*2 staged: gathering, all-registered", "worker:0 told start 1"}}},
    {"TheFirstValueOfAnAttemptCounts",
     {{"begun, publish driver:0 ADDRESS=first:1, publish driver:0 ADDRESS=first:1", "nothing"},
      {"publish driver:0 ADDRESS=second:2", "nothing; worker:0 values driver:0.ADDRESS=first:1"}}},
    {"WhatTheFrameworkDoesNotNameIsNoValue",
     {{"begun, publish driver:0 COLOUR=red", "nothing"},
      {"publish driver:0 ADDRESS=first:1 COLOUR=red", "worker:0 values driver:0.ADDRESS=first:1"},
      {"publish worker:0 ADDRESS=first:1", "nothing"}}},
    {"NobodyPublishesBeforeItWasToldToStart",
     {{"+ps*2:untracked: begun, publish ps:0 ADDRESS=first:1", "refused bad_request"}}},
    {"TheNextMasterKnowsWhatWasPublished",
     {{"+ps*2:untracked: begun, publish driver:0 ps:0 ADDRESS=first:1, note ps:1, master 2",
       "epoch_began; ps:1 told as noted"},
      {"publish ps:1 ADDRESS=second:2", "worker:1 told start 1"}}},
    {"AStageThatOnlyHadToBeOpenedIsByTheNextMaster",
     {{"begun, publish driver:0 ADDRESS=first:1, replay -1", "worker:0 told none"},
      {"start 2", "epoch_began stage_opened; worker:0 told start 1"}}},
    // ---- ends
    {"ASuccessThatLeavesOthersWaitingIsAFailure",
     {{"begun, report driver:0 success",
       "attempt_ended job_stopping; verdict user_error says `~it ended without having published ADDRESS`"}}},
    {"OfOneThatCouldNotReportNobodyKnowsWhetherItHadPublished",
     {{"begun, exit driver:0 kept success", "end infra; restart free"}}},
    {"WhoEndsBeforeTheGangHasFormedIsMissedAndNotSilent",
     {{"gathering, register driver:0, report driver:0 success", "end success; restart free"}}},
    {"ASuccessAfterItsValuesIsOne",
     {{"begun, publish driver:0, report driver:0 success",
       "attempt_ended; driver:0 is succeeded; worker:0 told start 1"}}},
    {"ValuesAreNotWaitedForForEver",
     {{"+ps*2:untracked: begun, pass 29999ms", "nothing"},
      {"deadline",
       "job_stopping; verdict timeout says `not every task published what others wait for within 30.0 s "
       "(tony.container.registration.timeout): missing driver:0 (ADDRESS)`"}}},
    {"EachStageHasItsOwnTimeToPublish",
     {{"+ps*2:untracked: begun, wait 15s, publish driver:0 ps:1, pass 29999ms", "nothing"},
      {"pass 1ms", "job_stopping; verdict says `~missing ps:0 (ADDRESS)`"}}},
    {"AJobThatIsStoppedOpensNoStage",
     {{"begun, kill", "worker:0 told stop"}, {"publish driver:0", "values_published; worker:0 told stop"}}},
    // ---- restarts
    {"AGangThatFormsAgainHasNoneOfTheValuesOfBefore",
     {{"+gang=1: begun, publish driver:0 ADDRESS=first:1, report driver:0 fails 3, report worker:0 worker:1 killed, "
       "register driver:0#2 worker:0#2 worker:1#2",
       "driver:0#2 told start 2; worker:0#2 told none"},
      {"publish driver:0#2 ADDRESS=second:2", "worker:0#2 told start 2; worker:0#2 values driver:0.ADDRESS=second:2"}}},
    {"ATaskOfALaterStageThatStartsAgainIsToldWhatStands",
     {{"+task=1: begun, publish driver:0 ADDRESS=first:1, heartbeat worker:0, report worker:0 fails 3, register "
       "worker:0#2",
       "attempt_registered stage_opened; worker:0#2 told start 1; worker:0#2 values driver:0.ADDRESS=first:1"}}},
    // The job asks for what the framework warns of: those who run keep what they were told.
    {"WhereATaskOfAnEarlierStageStartsAgainAloneItsValuesAreVoidForThoseWhoStartLater",
     {{"job driver*1:scope=task worker*2:scope=task staged registration=30s suspect=1h lost-after=2h task=5: "
       "gathering, all-registered, publish driver:0 ADDRESS=first:1, heartbeat driver:0 worker:0 worker:1, report "
       "driver:0 worker:0 fails 3, register driver:0#2 worker:0#2",
       "driver:0#2 told start 1; worker:0#2 told none; worker:1 told start 1"},
      {"publish driver:0#2 ADDRESS=second:2",
       "worker:0#2 told start 1; worker:0#2 values driver:0.ADDRESS=second:2; worker:1 values "
       "driver:0.ADDRESS=first:1"}}},
    {"WhoWaitsForItsStageAndEndsDoesNotStartWithIt",
     {{"begun, exit worker:0", "worker:0 is lost"}, {"publish driver:0", "without tell worker:0#1"}}},
    {"NobodyIsToldWhatAnotherOfItsOwnStagePublishes",
     {{"job driver*1:scope=task worker*2:scope=task staged registration=30s suspect=1h lost-after=2h "
       "ps*2:untracked:scope=task task=1: gathering, all-registered, publish driver:0 ADDRESS=first:1, publish ps:0 "
       "ADDRESS=second:2, heartbeat ps:1, report ps:1 fails 3, register ps:1#2",
       "ps:1#2 told start 1; ps:1#2 values driver:0.ADDRESS=first:1"}}},
};
TABLE_TEST(JobStagesTest, kStaged, Script(kInTwoStages, "gathering, all-registered, heartbeat driver:0"));

TEST(JobStagesTest, AJournalThatPublishesTwiceOrOpensAStageForNobodyIsDamaged) {
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

TEST(JobStagesTest, WhereverTheMasterDiesTheJobEndsAlike) {
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

}  // namespace
}  // namespace tony::am
