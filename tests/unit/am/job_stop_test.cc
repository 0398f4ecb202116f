// Kills, and the ladder by which everything that was started goes away: stop, grace, end of the container.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kStopGrace{10000};

JobSpec TwoWithGrace() { return JobBuilder().Role("worker", 2).With({.grace = kStopGrace}).Build(); }

void EndAll(JobDriver& driver) {
  for (const char* task : {"worker:0", "worker:1"}) {
    driver.Report(task, Killed());
    driver.Exit(task);
  }
}

TEST(JobStopTest, AKillBeforeAnyContainerEndsTheJobInThatTurn) {
  JobDriver driver(TwoWithGrace());
  driver.Accepted();

  const TurnResult turn = driver.Kill("changed my mind");

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping", "attempt_ended", "attempt_ended", "job_ended"));
  EXPECT_THAT(Orders(turn), ElementsAre("withdraw worker:0#1 worker:1#1", "end job"));
  EXPECT_EQ(driver.Status().state, "KILLED");
  EXPECT_EQ(driver.Status().verdict->cls, OutcomeClass::kKilled);
  EXPECT_EQ(driver.Status().verdict->message, "changed my mind");
}

TEST(JobStopTest, AKillOfAnotherUserIsNamedInTheVerdict) {
  JobDriver driver(TwoWithGrace());
  driver.Accepted();

  driver.Observe(KillAsked{{.reason = "the machine is needed", .asker = "root (uid 0)"}});

  EXPECT_EQ(driver.Status().verdict->message, "killed by root (uid 0): the machine is needed");
}

TEST(JobStopTest, AGrantAfterAKillGoesBack) {
  JobDriver driver(TwoWithGrace());
  driver.Accepted();
  driver.Grant("worker:0");
  driver.Kill();

  const TurnResult turn = driver.Grant("worker:1");

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-worker-1"));
}

TEST(JobStopTest, AKillStopsContainersWhoseExecutorsHaveNotRegistered) {
  JobDriver driver(TwoWithGrace());
  driver.Gathering();
  driver.ConfirmLaunch("worker:0");
  driver.Register("worker:1");

  const TurnResult turn = driver.Kill();

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "term c-worker-0", "tell worker:1#1"));
}

TEST(JobStopTest, AnExecutorThatNeverStartedNeedsNoReport) {
  JobDriver driver(TwoWithGrace());
  driver.Gathering();
  driver.Kill();

  driver.Exit("worker:0");
  driver.Exit("worker:1");

  EXPECT_EQ(driver.Status().state, "KILLED");
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "killed");
  EXPECT_EQ(driver.StatusOf("worker:0").outcome->cls, OutcomeClass::kKilled);
}

// The order to stop reaches it by its first Await; it would otherwise report again and again until it is ended.
TEST(JobStopTest, AnExecutorThatRegistersAfterAKillStopsAndMayReport) {
  JobDriver driver(TwoWithGrace());
  driver.Gathering();
  driver.Kill();
  ASSERT_FALSE(driver.Register("worker:0").refusal);
  ASSERT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kStop);

  const TurnResult turn = driver.Report("worker:0", Killed());

  EXPECT_FALSE(turn.refusal) << turn.refusal->message;
  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kRelease);
}

TEST(JobStopTest, AKillWhileRunningTellsEveryExecutorAndWaitsForThem) {
  JobDriver driver(TwoWithGrace());
  driver.Running();

  const TurnResult turn = driver.Kill("enough");

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.CommandFor("worker:0").kind, Command::Kind::kStop);
  EXPECT_EQ(driver.CommandFor("worker:0").grace, kStopGrace);
  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "stopping");
  EXPECT_TRUE(driver.job().MayRunTasks());

  EndAll(driver);
  EXPECT_FALSE(driver.job().MayRunTasks());
  EXPECT_EQ(driver.Status().state, "KILLED");
  EXPECT_EQ(driver.Status().verdict->message, "enough");
}

TEST(JobStopTest, AKillWithItsOwnGraceUsesThat) {
  JobDriver driver(TwoWithGrace());
  driver.Running();

  driver.Kill("enough", Duration(0));

  EXPECT_EQ(driver.CommandFor("worker:0").grace, Duration(0));
}

TEST(JobStopTest, ATaskThatSucceedsJustBeforeItIsStoppedHasSucceeded) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();

  driver.Report("worker:0", Success());
  driver.Report("worker:1", Failure(1));

  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "succeeded");
  EXPECT_EQ(driver.StatusOf("worker:1").attempt_state, "failed");
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kKilled);
}

TEST(JobStopTest, AnEndThatNobodySawAfterTheOrderToStopIsWhatWasWanted) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();

  driver.Report("worker:0", {.cls = OutcomeClass::kInfra});
  driver.Exit("worker:1");

  EXPECT_EQ(driver.StatusOf("worker:0").attempt_state, "killed");
  EXPECT_EQ(driver.StatusOf("worker:1").attempt_state, "killed");
}

TEST(JobStopTest, CommandNumbersGrowFromStartToStopToRelease) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  std::vector<int64_t> numbers = {driver.CommandFor("worker:0").number};
  driver.Kill();
  numbers.push_back(driver.CommandFor("worker:0").number);
  driver.Kill("faster", Duration(100));
  numbers.push_back(driver.CommandFor("worker:0").number);
  driver.Report("worker:0", Killed());
  numbers.push_back(driver.CommandFor("worker:0").number);

  EXPECT_GT(numbers[0], 0);
  for (size_t i = 1; i < numbers.size(); ++i) EXPECT_GT(numbers[i], numbers[i - 1]);
}

TEST(JobStopTest, ASecondKillWithAShorterGraceHurriesTheStop) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill("first");
  const Command slow = driver.CommandFor("worker:0");

  const TurnResult turn = driver.Kill("second", Duration(500));

  EXPECT_THAT(Decisions(turn), ElementsAre("stop_hurried"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_GT(driver.CommandFor("worker:0").number, slow.number);
  EXPECT_EQ(driver.CommandFor("worker:0").grace, Duration(500));
  EXPECT_EQ(driver.job().verdict()->message, "first");
}

TEST(JobStopTest, ASecondKillWithTheSameOrALongerGraceChangesNothing) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();

  EXPECT_THAT(Decisions(driver.Kill()), IsEmpty());
  EXPECT_THAT(Decisions(driver.Kill("patience", kStopGrace * 2)), IsEmpty());
}

TEST(JobStopTest, AThousandHurriesDoNotReachTheNumberOfTheRelease) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill("slowly", Duration(5000));
  for (int i = 1; i < 2000; ++i) driver.Kill("faster", Duration(5000 - i));
  const Command stop = driver.CommandFor("worker:0");

  driver.Report("worker:0", Killed());

  EXPECT_LT(stop.number, driver.CommandFor("worker:0").number);
}

TEST(JobStopTest, AKillWhileASucceededJobStopsDoesNotChangeItsVerdict) {
  JobDriver driver(JobBuilder().Role("worker", 1).Role("ps", 1, Completion::kUntracked).Build());
  driver.Running();
  driver.Report("worker:0", Success());

  const TurnResult turn = driver.Kill("too late", Duration(0));

  EXPECT_THAT(Decisions(turn), ElementsAre("stop_hurried"));
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobStopTest, AKillAfterTheEndDoesNothing) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill("first");
  EndAll(driver);
  const int64_t seq = driver.job().seq();

  const TurnResult turn = driver.Kill("second", Duration(0));

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), IsEmpty());
  EXPECT_FALSE(turn.refusal);
  EXPECT_EQ(driver.job().seq(), seq);
}

TEST(JobStopTest, AnExecutorThatDoesNotReportWithinTheGraceIsKilledWithItsContainer) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();
  driver.Report("worker:1", Killed());
  driver.Exit("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(kStopGrace)), IsEmpty()) << "the executor's own KILL comes first";

  const TurnResult turn = driver.PassToDeadline();

  EXPECT_THAT(Decisions(turn), ElementsAre("container_kill_ordered"));
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-worker-0"));
  EXPECT_EQ(driver.job().NextDeadline(), std::nullopt) << "the scheduler has to say the rest";
  driver.Exit("worker:0");
  EXPECT_EQ(driver.Status().state, "KILLED");
}

TEST(JobStopTest, AShorterGraceBringsTheKillOfTheContainerForward) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();
  const Instant before = *driver.job().NextDeadline();

  driver.Kill("faster", Duration(0));

  EXPECT_EQ(*driver.job().NextDeadline(), before - kStopGrace);
}

TEST(JobStopTest, AnExecutorThatDoesNotLeaveAfterItsReportIsKilledWithItsContainer) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Report("worker:0", Success());
  ASSERT_GT(*driver.job().NextDeadline(), driver.now());

  const TurnResult turn = driver.PassToDeadline();

  EXPECT_THAT(Decisions(turn), ElementsAre("container_kill_ordered"));
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-worker-0"));
  EXPECT_EQ(driver.job().state(), JobState::kRunning);
}

TEST(JobStopTest, EveryContainerThatOverstaysIsKilledOnce) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();

  const TurnResult first = driver.PassToDeadline();
  const TurnResult second = driver.PassToDeadline();

  EXPECT_THAT(Orders(first), ElementsAre("kill c-worker-0"));
  EXPECT_THAT(Orders(second), ElementsAre("kill c-worker-1"));
  EXPECT_THAT(Decisions(driver.Pass(Duration(60000))), IsEmpty());
}

TEST(JobStopTest, AReportIsStillTakenAfterItsContainersKillWasOrdered) {
  JobDriver driver(TwoWithGrace());
  driver.Running();
  driver.Kill();
  driver.PassToDeadline();

  EXPECT_THAT(Decisions(driver.Report("worker:0", Failure(2))), ElementsAre("attempt_ended"));
  EXPECT_EQ(driver.StatusOf("worker:0").outcome, Failure(2));
}

}  // namespace
}  // namespace tony::am
