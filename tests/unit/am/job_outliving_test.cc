// Sidecars that run on while the gang starts again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;

JobBuilder WithOutliver() { return Collective().OutlivesRestarts("board").Restarts(kGang, 2); }

JobDriver GangRestarting(const JobSpec& spec = WithOutliver().Build()) {
  JobDriver driver(spec);
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Report("worker:1", Killed());
  return driver;
}

TEST(JobOutlivingTest, TheGangStartsAgainWithoutIt) {
  JobDriver driver(WithOutliver().Build());
  driver.Running();
  EXPECT_THAT(Orders(driver.Report("worker:0", Failure(1))), ElementsAre("tell worker:1#1"));
  const TurnResult began = driver.Report("worker:1", Killed());
  EXPECT_THAT(Decisions(began), ElementsAre("attempt_ended", "restart_began", "gang_allocated"));
  driver.Register("worker:0#2");
  EXPECT_THAT(Decisions(driver.Register("worker:1#2")), ElementsAre("attempt_registered", "generation_formed"));

  EXPECT_EQ(driver.Told("worker:1#2"), "start 2");
  EXPECT_EQ(driver.Told("board:0"), "start 1") << "it is told nothing";
  EXPECT_EQ(driver.StateOf("board:0"), AttemptState::kRunning);
  EXPECT_EQ(driver.StatusOf("board:0").attempt, 1);
}

TEST(JobOutlivingTest, TheNextGenerationIsToldItsAddress) {
  JobDriver driver = GangRestarting();
  const std::string first = driver.CommandFor("board:0").cluster_spec;
  driver.RegisterAll();
  EXPECT_NE(driver.CommandFor("worker:0#2").cluster_spec, first);
  EXPECT_THAT(driver.CommandFor("worker:0#2").cluster_spec, testing::HasSubstr(R"("board":["node-board-0:4000"])"));
}

TEST(JobOutlivingTest, OneThatHasBeenToldToStartAndWasNotHeardOfRunsOn) {
  JobDriver driver(WithOutliver().Build());
  driver.Gathering().RegisterAll();
  driver.Heartbeat("worker:0");
  driver.Report("worker:0", Failure(1));
  driver.Report("worker:1", Killed());
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Told("worker:1#2"), "start 2");
  EXPECT_EQ(driver.Told("board:0"), "start 1");
  driver.Heartbeat("board:0");
  EXPECT_EQ(driver.StateOf("board:0"), AttemptState::kRunning);
}

TEST(JobOutlivingTest, WhenItEndsMeanwhileNobodyWaitsForIt) {
  JobDriver driver = GangRestarting();
  EXPECT_THAT(Decisions(driver.Report("board:0", Failure(127))), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.Status().state, "GATHERING");
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.StatusOf("board:0").state, "done");
}

TEST(JobOutlivingTest, WhenItIsLostMeanwhileItComesBackAlone) {
  JobDriver driver = GangRestarting();
  EXPECT_THAT(Decisions(driver.Exit("board:0")),
              ElementsAre("attempt_ended", "container_ended", "restart_decided", "restart_began"));
  driver.Grant("board:0#2");
  driver.ConfirmLaunch("board:0#2");
  driver.Register("board:0#2");
  EXPECT_EQ(driver.Told("board:0#2"), "start 1") << "it does not wait for the gang";
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
  EXPECT_EQ(driver.Told("board:0#2"), "start 1");
}

TEST(JobOutlivingTest, TheGangDoesNotWaitForItsNewContainer) {
  JobDriver driver = GangRestarting();
  driver.Exit("board:0");
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Status().state, "RUNNING");
  driver.Grant("board:0#2");
  driver.ConfirmLaunch("board:0#2");
  driver.Register("board:0#2");
  EXPECT_EQ(driver.Told("board:0#2"), "start 2");
}

TEST(JobOutlivingTest, BeforeTheGangHasFormedItIsAMemberOfIt) {
  JobDriver driver(WithOutliver().Build());
  driver.Gathering();
  driver.Register("worker:0");
  driver.Register("worker:1");
  EXPECT_EQ(driver.Told("worker:0"), "none");
  driver.Register("board:0");
  EXPECT_EQ(driver.Told("worker:0"), "start 1");
}

TEST(JobOutlivingTest, ARestartOfTheJobTakesItAlong) {
  JobDriver driver(Collective().OutlivesRestarts("board").Restarts(kJob, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  EXPECT_EQ(driver.Told("board:0"), "stop");
  driver.Report("worker:1", Killed());
  driver.Report("board:0", Killed());
  for (const char* task : {"board:0", "worker:0", "worker:1"}) driver.Exit(task);
  driver.GrantAll();
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Told("worker:0#2"), "none") << "the addresses of all are others";
  driver.RegisterAll();
  EXPECT_EQ(driver.Told("board:0#2"), "start 2");
  driver.RunAll();
  EXPECT_THAT(Decisions(driver.Report("board:0#2", Failure(1))), ElementsAre("attempt_ended"));
}

TEST(JobOutlivingTest, AGangThatMissesAContainerGivesBackWhatItHasAndTheSidecarsToo) {
  JobSpec spec = WithOutliver().Build();
  spec.scheduler = kYarnScheduler;
  JobDriver driver(spec);
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Exit("worker:1");
  const TurnResult turn = driver.Pass(spec.LongestHold());
  EXPECT_THAT(Decisions(turn), ElementsAre("restart_decided", "attempt_ended"));
  EXPECT_EQ(driver.Told("board:0"), "stop");
}

TEST(JobOutlivingTest, NothingIsGivenBackWhileTheSidecarAloneMissesItsContainer) {
  JobSpec spec = WithOutliver().Build();
  spec.scheduler = kYarnScheduler;
  JobDriver driver = GangRestarting(spec);
  driver.Exit("board:0");
  EXPECT_THAT(Decisions(driver.Pass(spec.LongestHold())), testing::Not(testing::Contains("restart_decided")));
}

TEST(JobOutlivingTest, ANewMasterKnowsThatItLivesOn) {
  JobDriver driver = GangRestarting();
  driver.Replay();
  driver.Start({2});
  driver.Register("board:0", Phase::kRunning, 100);
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Told("worker:1#2"), "start 2");
  EXPECT_EQ(driver.StateOf("board:0"), AttemptState::kRunning);
}

}  // namespace
}  // namespace tony::am
