// What was in the checkpoint directory before the job: listed once, before anything of the job has started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "runtime/base/strings.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kListingLimit{60'000};

const Checkpoint kEarlier{"/ckpt/step-7", 7, JobDriver::kStart, CheckpointWriter::kEarlierJob};

JobSpec Workers(int count) {
  return JobBuilder()
      .Role("worker", count)
      .Framework(count == 1 ? FrameworkKind::kStandalone : FrameworkKind::kPytorch)
      .Restarts(count == 1 ? RestartScope::kTask : RestartScope::kGang, 5)
      .Backoff(Duration(0), Duration(0))
      .Checkpoints("/ckpt")
      .Build();
}

CheckpointListing GoesOn() { return {.folder = "/ckpt", .earlier_job = JobId{"job-0"}, .newest = kEarlier}; }

TEST(JobListingTest, ItListsWhenAllAreThereAndStartsNobodyBefore) {
  JobDriver driver(Workers(2));
  driver.Gathering();
  EXPECT_THAT(Orders(driver.Register("worker:0")), IsEmpty());

  const TurnResult last = driver.Register("worker:1");

  EXPECT_THAT(Decisions(last), ElementsAre("attempt_registered", "listing_sought"));
  EXPECT_THAT(Orders(last), ElementsAre("list"));
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_THAT(Decisions(driver.ListCheckpoints()), ElementsAre("checkpoints_listed", "generation_formed"));
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_THAT(Decisions(driver.ListCheckpoints()), IsEmpty()) << "once is enough";
}

TEST(JobListingTest, AnAnswerThatIsLateIsNotWaitedForWhileTheGangRestarts) {
  JobSpec spec = Workers(2);
  spec.restart.lost.most = 0;
  JobDriver driver(spec);
  driver.Gathering().RegisterAll();
  EXPECT_THAT(Decisions(driver.Exit("worker:1")), testing::Not(testing::Contains("restart_began")));

  driver.Wait(kListingLimit);
  while (!Decisions(driver.Pass(Duration(0))).empty()) continue;

  EXPECT_GT(driver.job().NextDeadline().value_or(Instant::max()), driver.now()) << "it would look at once, for ever";
  driver.Replay();
  EXPECT_THAT(Orders(driver.Start({2})), testing::Contains("list"));
  EXPECT_THAT(Decisions(driver.ListCheckpoints()), testing::Contains("checkpoints_listed")) << "its answer counts";
}

TEST(JobListingTest, AJobWithoutADirectoryListsNothing) {
  JobDriver driver(JobBuilder().Role("worker", 1).Build());
  driver.Gathering();
  EXPECT_THAT(Decisions(driver.Register("worker:0")), ElementsAre("attempt_registered", "generation_formed"));
  EXPECT_FALSE(driver.Status().checkpoint);
}

TEST(JobListingTest, FirstComeFirstServedListsBeforeTheFirstStart) {
  JobDriver driver(JobBuilder().Role("worker", 2).Fcfs().Checkpoints("/ckpt").Build());
  driver.Accepted();
  driver.Grant("worker:0");
  EXPECT_THAT(Decisions(driver.Register("worker:0")), ElementsAre("attempt_registered", "listing_sought"));
  EXPECT_EQ(driver.Told("worker:0"), "none");

  driver.ListCheckpoints();
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  driver.Grant("worker:1");
  driver.Register("worker:1");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
}

TEST(JobListingTest, ANewMasterListsAgainWhatWasNotAnsweredAndNothingTwice) {
  JobDriver driver(Workers(1));
  driver.Gathering().RegisterAll();
  driver.Replay();
  EXPECT_THAT(Orders(driver.Start({2})), testing::Contains("list"));

  driver.ListCheckpoints(GoesOn());
  driver.Replay();
  EXPECT_THAT(Orders(driver.Start({3})), testing::Not(testing::Contains("list")));
  EXPECT_EQ(driver.CommandFor("worker:0").resume_from, "/ckpt/step-7");
}

TEST(JobListingTest, AListingThatIsNotAnsweredIsNotWaitedForForEver) {
  JobSpec spec = Workers(1);
  spec.timers.suspect_after = spec.timers.lost_after = std::chrono::hours(1);  // executors speak meanwhile
  JobDriver driver(std::move(spec));
  driver.Gathering().RegisterAll();
  driver.Wait(kListingLimit - Duration(1));
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + Duration(1));

  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), ElementsAre("checkpoints_listed", "generation_formed"));
  EXPECT_EQ(driver.Status().checkpoint->unknown, "it did not answer within 60 s");
}

TEST(JobListingTest, WhatIsLostMeanwhileIsReplacedWithoutALook) {
  JobDriver driver(Workers(1));
  driver.Gathering().RegisterAll();

  EXPECT_THAT(Decisions(driver.Exit("worker:0")),
              ElementsAre("attempt_ended", "container_ended", "restart_decided", "restart_began"));
  EXPECT_THAT(Decisions(driver.ListCheckpoints()), ElementsAre("checkpoints_listed")) << "nobody is there yet";
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_EQ(driver.CommandFor("worker:0#2").resume_from, "");
}

TEST(JobListingTest, TheFirstAttemptsGoOnWhereAnEarlierJobWas) {
  JobDriver driver(Workers(2));
  driver.Gathering().RegisterAll();
  driver.ListCheckpoints(GoesOn());

  EXPECT_EQ(driver.CommandFor("worker:0").resume_from, "/ckpt/step-7");
  EXPECT_EQ(driver.CommandFor("worker:1").resume_from, "/ckpt/step-7");
  const auto status = driver.Status().checkpoint;
  EXPECT_EQ(status->resumed_from, kEarlier);
  EXPECT_EQ(status->earlier_job, JobId{"job-0"});
}

TEST(JobListingTest, TheStatusSaysWhatARestartedTaskWentOnFrom) {
  JobDriver driver(Workers(1));
  driver.Running();
  EXPECT_FALSE(driver.Status().checkpoint->resumed_from);
  driver.Report("worker:0", Failure(1));
  driver.SeeCheckpoint(1, Checkpoint{"/ckpt/step-9", 9, JobDriver::kStart});
  driver.GrantAll().RegisterAll();

  EXPECT_EQ(driver.Status().checkpoint->resumed_from->path, "/ckpt/step-9");
  EXPECT_FALSE(driver.Status().checkpoint->earlier_job);
}

TEST(JobListingTest, ADirectoryThatAnotherJobHasEndsTheJobBeforeItStarts) {
  JobDriver driver(Workers(1));
  driver.Gathering().RegisterAll();

  const TurnResult turn = driver.Observe(CheckpointsThere{{}, JobId{"job-0"}});

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kUserConfig);
  EXPECT_EQ(driver.job().verdict()->message, "tony.checkpoint.dir: /ckpt is in use by job job-0, which has not ended");
  EXPECT_EQ(driver.Told("worker:0"), "stop");
  EXPECT_THAT(Decisions(driver.ListCheckpoints()), IsEmpty()) << "too late";
}

// The release before listings.
TEST(JobListingTest, AJobThatNeverListedKnowsNothingOfItsCheckpoints) {
  JobDriver driver(Workers(1));
  driver.Running();
  const auto is_of_listing = [](const Decision& decision) {
    return std::holds_alternative<ListingSought>(decision.body) ||
           std::holds_alternative<CheckpointsListed>(decision.body);
  };
  Job job(JobId{"job-1"}, Workers(1));
  for (const Decision& decision : driver.journal()) {
    if (is_of_listing(decision)) continue;
    ASSERT_TRUE(job.Evolve(decision).ok());
  }
  EXPECT_THAT(job.listing().unknown, HasSubstr("a release without listings"));
}

TEST(JobListingTest, AListingThatNobodyAskedForOrThatComesTwiceIsDamage) {
  JobDriver driver(Workers(1));
  driver.Gathering();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  driver.RegisterAll().ListCheckpoints();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  EXPECT_FALSE(driver.job().Evolve({driver.now(), ListingSought{}}).ok());
}

}  // namespace
}  // namespace tony::am
