// Tests restarts of a job that declares checkpoints: search first, resume from the newest checkpoint, and give up if no
// restart finds a new one.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

const TestRow kResuming[] = {
    {"TheMasterSearchesForTheNewestCheckpointBeforeARestartBegins",
     {{"running, report worker:0 fails 1", "attempt_ended restart_decided checkpoint_sought; orders look 1"},
      {"see 1 5", "checkpoint_noted restart_began gang_allocated"}}},
    {"ARestartedTaskReceivesThePathOfTheNewestCheckpoint",
     {{"running", "worker:0 resumes"}, {"resume worker:0 5", "worker:0#2 resumes /ckpt/step-5"}}},
    {"OnlyRestartedTasksReceiveACheckpointToResumeFrom",
     {{"job worker*2 standalone task=1 checkpoints=3: running, report worker:0 fails 1, see 1 5, register worker:0#2",
       "worker:0#2 resumes /ckpt/step-5; worker:1 resumes"}}},
    {"ARestartedTaskWithoutACheckpointStartsFromTheBeginning",
     {{"running, resume worker:0 none", "worker:0#2 told start 2; worker:0#2 resumes"}}},
    {"AnUnexpectedOrRepeatedCheckpointSearchResultIsIgnored",
     {{"running, see 1 1", "nothing"}, {"report worker:0 fails 1, see 1 1, see 1 2", "nothing"}}},
    // The previous AM's clock was ahead, and by that clock the restart was due.
    {"ABackwardClockStepDelaysARestartAndNotAJobFailure",
     {{"+checkpoints=1: running, resume worker:0 1, report worker:0#2 fails 1, standstill -500ms, see 2 {5|none}",
       "checkpoint_noted{| job_stopping}"}}},
    {"ARestartUsesTheLastKnownCheckpointIfTheCheckpointDirectoryIsUnreadable",
     {{"running, resume worker:0 5, resume worker:0#2 unreadable", "worker:0#3 resumes /ckpt/step-5"}}},
    {"ACheckpointSearchTimesOutAfter60Seconds",
     {{"running, resume worker:0 5, report worker:0#2 fails 1, wait 59999ms, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms", "checkpoint_noted restart_began gang_allocated"},
      {"all-up", "worker:0#3 resumes /ckpt/step-5"}}},
    // The order keeps its old number, contains the newer checkpoint, and is sent in the turn that notes the checkpoint.
    {"ARestartingTaskReceivesTheNewerCheckpointFoundByALaterRestart",
     {{"job worker*2 standalone task=9 backoff=0/0 checkpoints=3: running, report worker:0 fails 1, see 1 5, register "
       "worker:0#2, note worker:0#2",
       "worker:0#2 resumes /ckpt/step-5"},
      {"report worker:1 fails 1, see 2 7",
       "also tell worker:0#2; worker:0#2 numbered noted; worker:0#2 resumes /ckpt/step-7"}}},
    {"TheCheckpointSearchStartsWhenAllTasksOfTheRestartHaveEnded",
     {{"job worker*2 pytorch gang=1 checkpoints=3: running, report worker:0 fails 1", "attempt_ended restart_decided"},
      {"report worker:1 killed", "attempt_ended checkpoint_sought"}}},
    // ---- giving up
    {"ThreeRestartsWithoutANewerCheckpointFailTheJob",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, report worker:0#4 fails 1, see 4 5",
       "checkpoint_noted job_stopping; verdict FAILED of worker:0#4 says `worker:0 failed on node-worker-0: exit code "
       "1 (user_error); 3 restarts produced no newer checkpoint than /ckpt/step-5`; worker:0#4 told release"}}},
    {"ThreeRestartsWithoutAnyCheckpointFailTheJob",
     {{"running, resume worker:0 worker:0#2 worker:0#3 none, report worker:0#4 fails 1, see 4 none",
       "verdict says `~3 restarts produced no newer checkpoint in /ckpt`"}}},
    {"ANewerCheckpointResetsTheCountOfRestartsWithoutProgress",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, resume worker:0#4 worker:0#5 worker:0#6 6", "verdict none"},
      {"report worker:0#7 fails 1, see 7 6", "verdict any"}}},
    {"AnUnreadableCheckpointDirectoryDoesNotCountAsLackOfProgress",
     {{"running, resume worker:0 5, resume worker:0#2 worker:0#3 worker:0#4 worker:0#5 worker:0#6 unreadable",
       "verdict none"},
      {"resume worker:0#7 worker:0#8 5", "verdict none"},
      {"report worker:0#9 fails 1, see 9 5", "verdict any"}}},
    {"AnEqualOlderOrMissingCheckpointDoesNotCountAsProgress",
     {{"+checkpoints=1: running, resume worker:0 5, report worker:0#2 fails 1, see 2 {5|50 4|none}", "verdict any"}}},
    // The program names its checkpoints by a metric that falls.
    {"ANewlyWrittenCheckpointCountsAsProgressEvenWithALowerStepNumber",
     {{"+checkpoints=1: running, resume worker:0 5, resume worker:0#2 4 3600004", "verdict none"}}},
    {"TheLimitOfRestartsWithoutProgressIsConfigurable",
     {{"+checkpoints=1: running, resume worker:0 5, report worker:0#2 fails 1, see 2 5",
       "verdict says `~1 restart produced no newer checkpoint`"}}},
    {"RestartsOfLostTasksCountTowardsTheLimitOfRestartsWithoutProgress",
     {{"+lost=9: running, exit worker:0, see 1 5, all-up, exit worker:0#2, see 2 5, all-up, exit worker:0#3, see 3 5, "
       "all-up",
       "verdict none"},
      {"exit worker:0#4, see 4 5", "verdict any"}}},
    // ---- sidecars
    {"ASidecarsRestartDoesNotCountAsARestartWithoutProgress",
     {{"+board*1:sidecar task=20 checkpoints=1: running, end board:0 fails 1, see 1 5, all-up, end board:0#2 fails 1, "
       "see 2 5, all-up",
       "verdict none"},
      {"end board:0#3 fails 1, see 3 5, all-up, end board:0#4 fails 1, see 4 5", "verdict none"}}},
    {"ACheckpointFoundDuringASidecarsRestartStillCountsAsProgress",
     {{"+board*1:sidecar task=20 checkpoints=1: running, report worker:0 fails 1, report board:0 killed, see 1 1, "
       "all-up",
       "verdict none"},
      {"end board:0#2 fails 1, see 2 5, all-up, report worker:0#2 fails 1, report board:0#3 killed, see 3 5",
       "verdict none"}}},
    // ---- another master
    {"ANewMasterRepeatsAnUnfinishedCheckpointSearch",
     {{"running, report worker:0 fails 1, master 2", "orders look 1"},
      {"see 1 5", "checkpoint_noted restart_began gang_allocated"}}},
    {"ANewMasterRestartsTheTimeoutOfACheckpointSearch",
     {{"running, report worker:0 fails 1, standstill 120s, master 2", "epoch_began"}}},
    {"ANewMasterRestoresTheCountOfRestartsWithoutProgress",
     {{"running, resume worker:0 worker:0#2 worker:0#3 5, master 2", "worker:0#4 resumes /ckpt/step-5"},
      {"report worker:0#4 fails 1, see 4 5", "verdict any"}}},
};
TABLE_TEST(JobCheckpointTest, kResuming, Script("worker*1 pytorch gang=20 backoff=0/0 registration=1h checkpoints=3"));

// ---- The content of the checkpoint directory before the job: it is listed once, before any task of the job has
// started.

constexpr char kOneWorker[] = "worker*1 standalone task=5 backoff=0/0 checkpoints=3";

const TestRow kListed[] = {
    {"CheckpointsAreListedAfterAllTasksRegisterAndBeforeAnyTaskStarts",
     {{"job worker*2 pytorch gang=5 backoff=0/0 checkpoints=3: gathering, register worker:0", "no orders"},
      {"register worker:1", "attempt_registered listing_sought; orders list; worker:0 told none"},
      {"list", "checkpoints_listed generation_formed; worker:0 told start 1"},
      {"list", "nothing"}}},
    {"AJobWithoutACheckpointDirectoryListsNoCheckpoints",
     {{"job worker*1: gathering, register worker:0", "attempt_registered generation_formed; resumed never"}}},
    {"CheckpointsAreListedBeforeTheFirstTaskStartsInFcfsMode",
     {{"job worker*2 fcfs checkpoints=3: start, grant worker:0, register worker:0",
       "attempt_registered listing_sought; worker:0 told none"},
      {"list", "worker:0 told start 1"},
      {"grant worker:1, register worker:1", "worker:1 told start 1"}}},
    {"ANewMasterRepeatsACheckpointListingUntilTheJournalHasTheResult",
     {{"gathering, all-registered, master 2", "also list"},
      {"list-earlier, master 3", "without list; worker:0 resumes /ckpt/step-7"}}},
    {"ACheckpointListingTimesOutAfter60Seconds",
     {{"+suspect=1h lost-after=1h: gathering, all-registered, wait 59999ms, pass 0", "nothing; deadline +1ms"},
      {"pass 1ms",
       "checkpoints_listed generation_formed; unknown `the checkpoint directory did not answer within 60 s`"}}},
    {"ATaskLostDuringTheCheckpointListingIsReplacedWithoutACheckpointSearch",
     {{"gathering, all-registered, exit worker:0", "attempt_ended container_ended restart_decided restart_began"},
      {"list", "checkpoints_listed"},
      {"all-granted, all-registered", "worker:0#2 told start 1; worker:0#2 resumes"}}},
    {"FirstAttemptsResumeFromTheCheckpointOfAnEarlierJob",
     {{"job worker*2 pytorch gang=5 backoff=0/0 checkpoints=3: gathering, all-registered, list-earlier",
       "worker:0 worker:1 resumes /ckpt/step-7; resumed /ckpt/step-7 7 earlier_job job-0"}}},
    {"TheStatusShowsTheCheckpointOfARestartedTask",
     {{"running", "resumed nothing"},
      {"report worker:0 fails 1, see 1 9, all-granted, all-registered", "resumed /ckpt/step-9 9 this_job"}}},
    {"AJobFailsBeforeAnyTaskStartsIfAnotherJobUsesItsCheckpointDirectory",
     {{"gathering, all-registered, list-in-use",
       "job_stopping; verdict user_config says `tony.checkpoint.dir: /ckpt is in use by job job-0, which has not "
       "ended`; worker:0 told stop"},
      {"list", "nothing"}}},
};
TABLE_TEST(JobListingTest, kListed, Script(kOneWorker));

TEST(JobListingTest, AnOverdueCheckpointListingDoesNotMakeTheTimerSpinDuringARestart) {
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

// The journal is one of the release before listings were added.
TEST(JobListingTest, EarlierCheckpointsAreUnknownIfAnOlderReleaseWroteTheJournal) {
  const JobSpec spec = JobOf(kOneWorker);
  JobDriver driver(spec);
  driver.Running();
  Job job(JobId{"job-1"}, spec);
  for (const Decision& decision : driver.journal()) {
    if (Name(decision) == "listing_sought" || Name(decision) == "checkpoints_listed") continue;
    ASSERT_TRUE(job.Evolve(decision).ok());
  }
  EXPECT_NE(job.listing().unknown.find("a release that does not list checkpoints"), std::string::npos);
}

TEST(JobListingTest, AJournalWithAnUnrequestedOrRepeatedCheckpointListingIsRejected) {
  JobDriver driver(JobOf(kOneWorker));
  driver.Gathering();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  driver.RegisterAll().ListCheckpoints();
  EXPECT_FALSE(driver.job().Evolve({driver.now(), CheckpointsListed{}}).ok());
  EXPECT_FALSE(driver.job().Evolve({driver.now(), ListingStarted{}}).ok());
}

}  // namespace
}  // namespace tony::am
