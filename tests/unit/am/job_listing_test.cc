// What was in the checkpoint directory before the job: listed once, before anything of the job has started.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kOneWorker[] = "worker*1 standalone task=5 backoff=0/0 checkpoints=3";

const TestRow kListed[] = {
    {"ItListsWhenAllAreThereAndStartsNobodyBefore",
     {{"job worker*2 pytorch gang=5 backoff=0/0 checkpoints=3: gathering, register worker:0", "no orders"},
      {"register worker:1", "attempt_registered listing_sought; orders list; worker:0 told none"},
      {"list", "checkpoints_listed generation_formed; worker:0 told start 1"},
      {"list", "nothing"}}},
    {"AJobWithoutADirectoryListsNothing",
     {{"job worker*1: gathering, register worker:0", "attempt_registered generation_formed; resumed never"}}},
    {"FirstComeFirstServedListsBeforeTheFirstStart",
     {{"job worker*2 fcfs checkpoints=3: start, grant worker:0, register worker:0",
       "attempt_registered listing_sought; worker:0 told none"},
      {"list", "worker:0 told start 1"},
      {"grant worker:1, register worker:1", "worker:1 told start 1"}}},
    {"ANewMasterListsAgainWhatWasNotAnsweredAndNothingTwice",
     {{"gathering, all-registered, master 2", "also list"},
      {"list-earlier, master 3", "without list; worker:0 resumes /ckpt/step-7"}}},
    {"AListingThatIsNotAnsweredIsNotWaitedForForEver",
     {{"+suspect=1h lost-after=1h: gathering, all-registered, wait 59999ms, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms", "checkpoints_listed generation_formed; unknown `it did not answer within 60 s`"}}},
    {"WhatIsLostMeanwhileIsReplacedWithoutALook",
     {{"gathering, all-registered, exit worker:0", "attempt_ended container_ended restart_decided restart_began"},
      {"list", "checkpoints_listed"},
      {"all-granted, all-registered", "worker:0#2 told start 1; worker:0#2 resumes"}}},
    {"TheFirstAttemptsGoOnWhereAnEarlierJobWas",
     {{"job worker*2 pytorch gang=5 backoff=0/0 checkpoints=3: gathering, all-registered, list-earlier",
       "worker:0 worker:1 resumes /ckpt/step-7; resumed /ckpt/step-7 7 earlier_job job-0"}}},
    {"TheStatusSaysWhatARestartedTaskWentOnFrom",
     {{"running", "resumed nothing"},
      {"report worker:0 fails 1, see 1 9, all-granted, all-registered", "resumed /ckpt/step-9 9 this_job"}}},
    {"ADirectoryThatAnotherJobHasEndsTheJobBeforeItStarts",
     {{"gathering, all-registered, list-in-use",
       "job_stopping; verdict user_config says `tony.checkpoint.dir: /ckpt is in use by job job-0, which has not "
       "ended`; worker:0 told stop"},
      {"list", "nothing"}}},
};
TABLE_TEST(JobListingTest, kListed, Script(kOneWorker));

TEST(JobListingTest, AnAnswerThatIsLateIsNotWaitedForWhileTheGangRestarts) {
  JobDriver driver(JobOf("worker*2 pytorch gang=5 lost=0 backoff=0/0 checkpoints=3"));
  driver.Gathering().RegisterAll();
  EXPECT_FALSE(Find<RestartBegan>(driver.Exit("worker:1")));
  driver.Wait(Duration(60'000));
  while (!driver.Pass(Duration(0)).decisions.empty()) continue;
  EXPECT_GT(driver.job().NextDeadline().value_or(Instant::max()), driver.now()) << "it would look at once, for ever";
  driver.Replay();
  EXPECT_EQ(Orders(driver.Start({2})), (std::vector<std::string>{"kill c-worker-0", "list"}));
  EXPECT_TRUE(Find<CheckpointsListed>(driver.ListCheckpoints())) << "its answer counts";
}

// The release before listings.
TEST(JobListingTest, AJobThatNeverListedKnowsNothingOfItsCheckpoints) {
  const JobSpec spec = JobOf(kOneWorker);
  JobDriver driver(spec);
  driver.Running();
  Job job(JobId{"job-1"}, spec);
  for (const Decision& decision : driver.journal()) {
    if (Name(decision) == "listing_sought" || Name(decision) == "checkpoints_listed") continue;
    ASSERT_TRUE(job.Evolve(decision).ok());
  }
  EXPECT_NE(job.listing().unknown.find("a release without listings"), std::string::npos);
}

TEST(JobListingTest, AListingThatNobodyAskedForOrThatComesTwiceIsDamage) {
  JobDriver driver(JobOf(kOneWorker));
  driver.Gathering();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  driver.RegisterAll().ListCheckpoints();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  EXPECT_FALSE(driver.job().Evolve({driver.now(), ListingSought{}}).ok());
}

}  // namespace
}  // namespace tony::am
