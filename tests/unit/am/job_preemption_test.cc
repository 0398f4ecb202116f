// A scheduler that takes containers away, with notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

JobBuilder RestartedTwice() {
  return JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 2);
}

TEST(JobPreemptionTest, ANoticeOfPreemptionStopsTheTaskInTheTimeThereIs) {
  JobDriver driver(Alone().Build());
  driver.Running();

  const TurnResult turn = driver.Preempt("worker:0", Duration(5000));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1"));
  EXPECT_EQ(driver.Told("worker:0"), "stop");
  EXPECT_EQ(driver.CommandFor("worker:0").grace, Duration(4000)) << "the report needs time, too";
  EXPECT_EQ(driver.CommandFor("worker:0").reason, "preempted");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  driver.Kill();
  EXPECT_EQ(driver.CommandFor("worker:1").reason, "") << "the job's end is no notice";
}

TEST(JobPreemptionTest, APreemptedTaskStartsAgainElsewhereWithoutACharge) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Preempt("worker:0", Duration(5000));

  const TurnResult turn = driver.Report("worker:0", Killed());

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_EQ(driver.StatusOf("worker:0").outcome->cls, OutcomeClass::kPreempted);
  EXPECT_EQ(driver.StatusOf("worker:0").outcome->exit, Killed().exit);
  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_FALSE(Find<RestartDecided>(turn)->charged);
  EXPECT_EQ(driver.Told("worker:0"), "release");
  EXPECT_THAT(Orders(driver.Exit("worker:0")), Contains("request worker:0#2"));
}

TEST(JobPreemptionTest, ATaskThatFinishesInTheTimeItWasGivenHasSucceeded) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Preempt("worker:0", Duration(5000));

  EXPECT_THAT(Decisions(driver.Report("worker:0", Success())), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "succeeded");
}

TEST(JobPreemptionTest, ASecondNoticeOrOneOfAnEndedAttemptChangesNothing) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Preempt("worker:0", Duration(5000));
  driver.Report("worker:1", Success());

  EXPECT_THAT(Decisions(driver.Preempt("worker:0", Duration(2000))), IsEmpty());
  EXPECT_THAT(Decisions(driver.Preempt("worker:1", Duration(2000))), IsEmpty());
  driver.Kill();
  EXPECT_THAT(Decisions(driver.Preempt("worker:0", Duration(1000))), IsEmpty());
}

TEST(JobPreemptionTest, APreemptedExecutorThatHasNotRegisteredIsEndedWithItsContainer) {
  JobDriver driver(Alone().Build());
  driver.Gathering();

  EXPECT_THAT(Orders(driver.Preempt("worker:0", Duration(5000))), ElementsAre("tell worker:0#1", "term c-worker-0"));
  EXPECT_THAT(Orders(driver.Exit("worker:0")), Contains("request worker:0#2"));
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
}

TEST(JobPreemptionTest, APreemptedTaskOfAGangThatFailsMeanwhileGetsANewContainerLikeThat) {
  JobDriver driver(RestartedTwice().Build());
  driver.Running();
  driver.Preempt("worker:0", Duration(5000));

  EXPECT_THAT(Decisions(driver.Report("worker:1", Failure(1))), ElementsAre("attempt_ended", "restart_decided"));
  EXPECT_EQ(driver.CommandFor("worker:0").grace, Duration(4000)) << "it has no more time than before";
  driver.Report("worker:0", Killed());
  EXPECT_EQ(driver.Told("worker:0"), "release");
  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Orders(turn), Contains("request worker:0#2"));
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
  EXPECT_EQ(driver.Status().restart_count, 1);
}

TEST(JobPreemptionTest, AContainerThatWaitsForItsNextAttemptIsGivenUp) {
  JobDriver driver(RestartedTwice().Backoff(Duration(3000), Duration(9000)).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));

  EXPECT_THAT(Orders(driver.Preempt("worker:0", Duration(5000))), ElementsAre("kill c-worker-0"));
  EXPECT_THAT(Decisions(driver.Report("worker:1", Killed())), ElementsAre("attempt_ended")) << "it is not gone yet";
  const TurnResult turn = driver.Exit("worker:0");

  EXPECT_THAT(Orders(turn), Contains("request worker:0#2"));
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
}

TEST(JobPreemptionTest, AContainerThatIsTakenAwayWhileItsTaskIsStoppedForARestartIsNotUsedAgain) {
  JobDriver driver(RestartedTwice().Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  EXPECT_THAT(Decisions(driver.Preempt("worker:1", Duration(5000))), IsEmpty()) << "it is being stopped";

  EXPECT_THAT(Orders(driver.Report("worker:1", Killed())), Contains("kill c-worker-1"));
  EXPECT_THAT(Orders(driver.Exit("worker:1")), Contains("request worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
}

TEST(JobPreemptionTest, ATaskThatReportsLateFromAContainerThatIsBeingKilledIsHeard) {
  JobDriver driver(RestartedTwice().Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Preempt("worker:1", Duration(5000));
  const TurnResult late = driver.PassToDeadline();
  ASSERT_TRUE(Find<ContainerKillOrdered>(late)) << "it has not left in the time it was given";

  EXPECT_THAT(Decisions(driver.Report("worker:1", Killed())), ElementsAre("attempt_ended"));
  EXPECT_THAT(Orders(driver.Exit("worker:1")), Contains("request worker:1#2"));
}

TEST(JobPreemptionTest, AContainerThatIsTakenAwayFromATaskThatFailsIsNotUsedAgain) {
  JobDriver driver(RestartedTwice().Build());
  driver.Running();
  driver.Preempt("worker:0", Duration(5000));

  const TurnResult turn = driver.Report("worker:0", Failure(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_kill_ordered", "restart_decided"));
  driver.Report("worker:1", Killed());
  EXPECT_THAT(Orders(driver.Exit("worker:0")), Contains("request worker:0#2"));
  EXPECT_EQ(driver.Told("worker:1"), "next 2");
}

TEST(JobPreemptionTest, ANoticeShorterThanAReportTakesGivesNoGrace) {
  JobDriver driver(Alone().Build());
  driver.Running();

  driver.Preempt("worker:0", Duration(300));

  EXPECT_EQ(driver.CommandFor("worker:0").grace, Duration(0));
}

}  // namespace
}  // namespace tony::am
