// How a job without restarts ends by itself: who matters, what the verdict names, and that nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

JobSpec OneOfEach() {
  return JobBuilder()
      .Role("board", 1, Completion::kSidecar)
      .Role("ps", 1, Completion::kUntracked)
      .Role("worker", 2)
      .NoRestarts()
      .Build();
}

TEST(JobEndTest, ATrackedSuccessThatIsNotTheLastChangesNothingElse) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Report("worker:0", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.Status().state, "RUNNING");
  EXPECT_EQ(driver.StatusOf("worker:0").state, "done");
  EXPECT_EQ(driver.StatusOf("worker:0").outcome, Success());
  EXPECT_EQ(driver.StatusOf("worker:0").pid, 0);
  EXPECT_EQ(driver.StatusOf("worker:0").ended, driver.now());
}

TEST(JobEndTest, AnEndedTaskIsReleased) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Report("worker:0", Success());

  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1"));
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kRelease);
}

TEST(JobEndTest, TheLastTrackedSuccessStopsUntrackedTasksAndSidecars) {
  JobDriver driver(OneOfEach());
  driver.Running();
  driver.Report("worker:0", Success());

  const TurnResult turn = driver.Report("worker:1", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:1#1", "tell board:0#1", "tell ps:0#1"));
  EXPECT_EQ(driver.CommandFor("ps:0").kind, Command::Kind::kStop);
  EXPECT_EQ(driver.CommandFor("ps:0").grace, driver.job().spec().timers.grace);
  EXPECT_EQ(driver.Status().state, "STOPPING");
}

TEST(JobEndTest, TheJobEndsOnlyWhenEveryContainerIsGone) {
  JobDriver driver(OneOfEach());
  driver.Running();
  for (const char* task : {"worker:0", "worker:1"}) driver.Report(task, Success());
  for (const char* task : {"board:0", "ps:0"}) driver.Report(task, Killed());
  for (const char* task : {"worker:1", "board:0", "worker:0"}) {
    EXPECT_THAT(Decisions(driver.Exit(task)), ElementsAre("container_ended"));
    EXPECT_FALSE(driver.Status().verdict) << "an end is told when it is one";
  }

  const TurnResult turn = driver.Exit("ps:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("container_ended", "job_ended"));
  EXPECT_THAT(Orders(turn), ElementsAre("end job"));
  EXPECT_EQ(driver.Status().state, "SUCCEEDED");
  EXPECT_EQ(driver.Status().ended, driver.now());
  ASSERT_TRUE(driver.Status().verdict);
  EXPECT_EQ(driver.Status().verdict->cls, OutcomeClass::kSuccess);
  EXPECT_EQ(driver.StatusOf("ps:0").attempt_state, "killed");
}

TEST(JobEndTest, AContainerThatLeavesEarlyIsNotMissedLater) {
  JobDriver driver(OneOfEach());
  driver.Running();
  driver.Report("worker:0", Success());

  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("container_ended"));
  EXPECT_THAT(Decisions(driver.Exit("worker:0")), IsEmpty());
  EXPECT_EQ(driver.job().state(), JobState::kRunning);
}

TEST(JobEndTest, ATrackedFailureFailsTheJobAtOnce) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Report("worker:1", Failure(3));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:1#1", "tell board:0#1", "tell ps:0#1", "tell worker:0#1"));
  ASSERT_TRUE(driver.job().verdict());
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kFailed);
}

TEST(JobEndTest, TheVerdictNamesTheFirstCauseThoughOthersFailLater) {
  JobDriver driver(OneOfEach());
  driver.Running();
  driver.Report("worker:1", Failure(3));
  const Verdict first = *driver.job().verdict();

  driver.Report("worker:0", Failure(1));
  driver.Report("ps:0", Failure(2));
  driver.Report("board:0", Killed());
  for (const char* task : {"board:0", "ps:0", "worker:0", "worker:1"}) driver.Exit(task);

  EXPECT_EQ(driver.Status().state, "FAILED");
  EXPECT_EQ(driver.Status().verdict, first);
  EXPECT_EQ(first.attempt, AttemptOf("worker:1"));
  EXPECT_EQ(first.host, "node-worker-1");
  EXPECT_EQ(first.exit, (ExitStatus{ExitStatus::Kind::kExited, 3}));
  EXPECT_EQ(first.stderr_tail, "Traceback");
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "failed");
}

TEST(JobEndTest, AnUntrackedFailureFailsTheJob) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Report("ps:0", Failure(9));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("ps:0"));
}

TEST(JobEndTest, AnUntrackedSuccessChangesNothing) {
  JobDriver driver(OneOfEach());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Report("ps:0", Success())), ElementsAre("attempt_ended"));
  EXPECT_THAT(Decisions(driver.Report("worker:0", Success())), ElementsAre("attempt_ended"));
}

TEST(JobEndTest, ASidecarsFailureIsIgnored) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult failed = driver.Report("board:0", Failure(1));
  driver.Report("worker:0", Success());
  driver.Report("worker:1", Success());

  EXPECT_THAT(Decisions(failed), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobEndTest, BeforeTheGangFormedASidecarsEndFailsTheJob) {
  JobDriver driver(OneOfEach());
  driver.Gathering();
  driver.Register("worker:0");

  const TurnResult turn = driver.Exit("board:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->attempt, AttemptOf("board:0"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kInfra);
}

TEST(JobEndTest, WhileOthersStillWaitForContainersASidecarsEndFailsTheJob) {
  JobDriver driver(OneOfEach());
  driver.Accepted();
  driver.Grant("board:0");

  const TurnResult turn = driver.Exit("board:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "job_stopping", "attempt_ended",
                                           "attempt_ended", "attempt_ended", "job_ended"));
  EXPECT_EQ(driver.Status().state, "FAILED");
}

TEST(JobEndTest, AnExecutorThatExitsWithoutAReportIsOurFaultNotTheUsers) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Observe(
      ContainerEvent{ContainerExited{ContainerOf("worker:0"), ExitStatus{ExitStatus::Kind::kSignaled, 11}, ""}});

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "job_stopping"));
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "lost");
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kInfra);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("signal 11"));
}

TEST(JobEndTest, AnExecutorThatCouldNotBeStartedEndsTheJobWithTheReason) {
  JobDriver driver(OneOfEach());
  driver.Gathering();

  driver.Observe(ContainerEvent{
      ContainerExited{ContainerOf("worker:0"), std::nullopt, "start /x/tony-executor: permission denied"}});

  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kInfra);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("start /x/tony-executor: permission denied"));
}

TEST(JobEndTest, AnOutcomeKeptOnDiskIsBelieved) {
  JobDriver driver(OneOfEach());
  driver.Running();

  const TurnResult turn = driver.Exit("worker:0", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended"));
  EXPECT_EQ(driver.StatusOf("worker:0").outcome, Success());
}

TEST(JobEndTest, AKeptOutcomeOfAnExecutorThatNeverRegisteredIsNotBelieved) {
  JobDriver driver(OneOfEach());
  driver.Gathering();

  driver.Exit("worker:0", Success());

  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "lost");
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kInfra);
}

TEST(JobEndTest, AReportCountsMoreThanAKeptOutcomeFoundLater) {
  JobDriver driver(OneOfEach());
  driver.Running();
  driver.Report("worker:0", Success());

  EXPECT_THAT(Decisions(driver.Exit("worker:0", Failure(1))), ElementsAre("container_ended"));
  EXPECT_EQ(driver.StatusOf("worker:0").outcome, Success());
}

TEST(JobEndTest, AShortTaskMayEndBeforeAnyoneHeardThatItRan) {
  JobDriver driver(JobBuilder().Role("worker", 1).Build());
  driver.Gathering().RegisterAll();

  const TurnResult turn = driver.Report("worker:0", Success());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "job_stopping"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobEndTest, APreemptedTaskIsLostAndTheVerdictSaysPreempted) {
  JobDriver driver(OneOfEach());
  driver.Running();

  driver.Report("worker:0", {.cls = OutcomeClass::kPreempted});

  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "lost");
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kPreempted);
}

TEST(JobEndTest, ATaskThatSomebodyElseKilledHasFailed) {
  JobDriver driver(OneOfEach());
  driver.Running();

  driver.Report("worker:0", Killed());

  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "failed");
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kKilled);
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kFailed);
}

}  // namespace
}  // namespace tony::am
