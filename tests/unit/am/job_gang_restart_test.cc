// Restarts of the gang and of the job: who is told what and when, and what stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobGangRestartTest, AGangStopsWhatRunsAndHoldsEveryExecutor) {
  JobDriver driver(Collective().Restarts(kGang, 1).Build());
  driver.Running();

  const TurnResult turn = driver.Report("worker:0", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell board:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:0"), "none");
  EXPECT_EQ(driver.Told("worker:1"), "stop");
  EXPECT_EQ(driver.CommandFor("worker:1").grace, driver.job().spec().timers.grace);
  EXPECT_EQ(driver.Status().state, "RESTARTING");
  for (const char* task : {"board:0", "worker:0", "worker:1"}) EXPECT_EQ(driver.StatusOf(task).state, "backoff");
  EXPECT_THAT(Decisions(driver.Report("worker:1", Killed())), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.Told("worker:1"), "none");
}

TEST(JobGangRestartTest, AGangGoesOnInTheSameContainersInTheNextGeneration) {
  JobDriver driver(Collective().Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Report("worker:1", Killed());

  const TurnResult turn = driver.Report("board:0", Killed());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_began", "gang_allocated"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell board:0#1", "tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
  driver.Register("worker:0#2");
  driver.Register("worker:1#2");
  EXPECT_EQ(driver.Told("worker:0#2"), "none");
  EXPECT_THAT(Decisions(driver.Register("board:0#2")), ElementsAre("attempt_registered", "generation_formed"));
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
  EXPECT_EQ(driver.Status().generation, Generation{2});
  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.Status().restart_count, 1);
  ASSERT_EQ(driver.Status().restarts.size(), 1U);
  EXPECT_EQ(driver.Status().restarts[0].reason, "worker:0 failed on node-worker-0: exit code 1 (user_error)");
}

TEST(JobGangRestartTest, WhoLosesItsContainerMeanwhileGetsANewOneAndTheOthersWait) {
  JobDriver driver(Collective().Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Exit("worker:1");
  const TurnResult turn = driver.Report("board:0", Killed());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell board:0#1", "tell worker:0#1", "tell worker:1#1", "request worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
  EXPECT_EQ(driver.Told("worker:1"), "release");
  EXPECT_EQ(driver.Status().state, "ALLOCATING");
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:1#2"), "start 2");
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
}

TEST(JobGangRestartTest, AFailureWhileItRestartsIsNeitherJudgedNorCharged) {
  JobDriver driver(Collective().Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(2))), ElementsAre("attempt_ended"));
  driver.Report("board:0", Killed());

  EXPECT_EQ(driver.Status().restart_count, 1);
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
}

TEST(JobGangRestartTest, WhenTheBudgetIsUsedUpTheJobFailsAndTheVerdictSaysSo) {
  JobDriver driver(JobBuilder().Role("worker", 1).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");

  const TurnResult turn = driver.Report("worker:0#2", Failure(3));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("worker:0#2"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("exit code 3 (user_error); restarts used up: gang 1 of 1"));
  EXPECT_EQ(driver.Told("worker:0#2"), "release");
}

TEST(JobGangRestartTest, ATaskThatHadSucceededRunsAgainWithItsGangAndCountsOnce) {
  JobDriver driver(JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Success());
  driver.Exit("worker:0");

  const TurnResult turn = driver.Report("worker:1", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided", "restart_began"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1", "tell worker:0#1", "request worker:0#2"));
  driver.GrantAll().RegisterAll().RunAll();
  ASSERT_EQ(driver.Status().generation, Generation{2});
  driver.Report("worker:1#2", Success());
  EXPECT_FALSE(driver.job().verdict()) << "the first success does not count any more";
  driver.Report("worker:0#2", Success());
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

// Its executor may have left already; what it was told last cannot be taken back.
TEST(JobGangRestartTest, WhoWasReleasedIsNotHeldAgain) {
  JobDriver driver(JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Success());
  ASSERT_EQ(driver.Told("worker:0"), "release");

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));

  EXPECT_EQ(driver.Told("worker:0"), "release");
  EXPECT_THAT(Orders(driver.Exit("worker:0")), testing::Contains("request worker:0#2"));
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
}

// ---- the job

TEST(JobGangRestartTest, ARestartOfTheJobReleasesEveryoneAndAsksForNewContainers) {
  JobDriver driver(Collective().Restarts(kJob, 1).Build());
  driver.Running();

  const TurnResult decided = driver.Report("worker:0", Failure(1));
  EXPECT_THAT(Decisions(decided), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_EQ(driver.Told("worker:0"), "release");
  EXPECT_EQ(driver.Told("worker:1"), "stop");
  driver.Report("worker:1", Killed());
  driver.Report("board:0", Killed());
  EXPECT_EQ(driver.Told("worker:1"), "release");
  driver.Exit("worker:0");
  driver.Exit("worker:1");
  const TurnResult began = driver.Exit("board:0");

  EXPECT_THAT(Decisions(began), ElementsAre("container_ended", "restart_began"));
  EXPECT_THAT(Orders(began), testing::Contains("request board:0#2 worker:0#2 worker:1#2"));
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0#2"), "start 2");
  EXPECT_EQ(driver.StatusOf("worker:0").host, "node-worker-0-2");
}

TEST(JobGangRestartTest, CommandNumbersOfAnAttemptGrow) {
  JobDriver driver(Collective().Restarts(kGang, 2).Build());
  driver.Running();
  std::vector<int64_t> numbers = {driver.CommandFor("worker:1").number};
  driver.Report("worker:0", Failure(1));
  numbers.push_back(driver.CommandFor("worker:1").number);
  driver.Report("worker:1", Killed());
  EXPECT_EQ(driver.CommandFor("worker:1").number, 0) << "there is nothing yet";
  driver.Report("board:0", Killed());
  numbers.push_back(driver.CommandFor("worker:1").number);

  for (size_t i = 1; i < numbers.size(); ++i) EXPECT_GT(numbers[i], numbers[i - 1]);
  EXPECT_EQ(driver.CommandFor("worker:1#2").number, 0);
  driver.RegisterAll();
  EXPECT_GT(driver.CommandFor("worker:1#2").number, 0);
}

}  // namespace
}  // namespace tony::am
