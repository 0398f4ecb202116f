// What may come between: kills, limits, lost containers, silence, preemption, executors of the past.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kGrace{10'000};
constexpr Duration kConfirm{15'000};

JobBuilder TroubledCollective() {
  return JobBuilder().Role("worker", 2).Framework(FrameworkKind::kPytorch).Restarts(kGang, 2);
}

// worker:0 has failed and is held; worker:1 has been told to stop.
JobDriver RestartingGang(JobBuilder builder = TroubledCollective()) {
  JobDriver driver(builder.Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  return driver;
}

// worker:0 waits for its back-off.
JobDriver BackingOff() {
  JobDriver driver(Alone().Restarts(kTask, 2).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");
  driver.Report("worker:0#2", Failure(1));
  return driver;
}

// ---- kills and limits

TEST(JobRestartTroubleTest, AKillWhileAGangRestartsReleasesWhoIsHeldAndHurriesTheOthers) {
  JobDriver driver = RestartingGang();

  const TurnResult turn = driver.Kill("enough", Duration(100));

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:0"), "release");
  EXPECT_EQ(driver.CommandFor("worker:1").grace, Duration(100));
  driver.Report("worker:1", Killed());
  EXPECT_EQ(driver.Told("worker:1"), "release");
  driver.Exit("worker:0");
  driver.Exit("worker:1");
  EXPECT_EQ(driver.Status().state, "KILLED");
  for (const char* task : {"worker:0", "worker:1"}) EXPECT_EQ(driver.StatusOf(task).state, "done");
}

TEST(JobRestartTroubleTest, AKillDuringABackOffReleasesWhoWaitsForIt) {
  JobDriver driver = BackingOff();

  driver.Kill("enough");

  EXPECT_EQ(driver.Told("worker:0#2"), "release");
  EXPECT_EQ(driver.Told("worker:1"), "stop");
  EXPECT_EQ(driver.StatusOf("worker:0").state, "done");
  driver.Report("worker:1", Killed());
  driver.Exit("worker:0#2");
  driver.Exit("worker:1");
  EXPECT_EQ(driver.Status().state, "KILLED");
  EXPECT_EQ(driver.job().NextDeadline(), std::nullopt);
}

TEST(JobRestartTroubleTest, AKillAfterItBeganStopsRenewedExecutorsByTheirCommandAlone) {
  JobDriver driver = RestartingGang();
  driver.Report("worker:1", Killed());
  ASSERT_EQ(driver.Told("worker:0"), "next 2");

  const TurnResult turn = driver.Kill("enough");

  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#2", "tell worker:1#2")) << "their executors are up";
  EXPECT_EQ(driver.Told("worker:0"), "next 2") << "who has not heard of it yet still has to";
  EXPECT_FALSE(driver.Register("worker:0#2").refusal);
  EXPECT_EQ(driver.Told("worker:0#2"), "stop");
  EXPECT_FALSE(driver.Report("worker:0#2", Killed()).refusal);
  EXPECT_EQ(driver.Told("worker:0#2"), "release");
}

TEST(JobRestartTroubleTest, AnExecutorThatIsHeldAndDoesNotLeaveAfterAKillIsEnded) {
  JobDriver driver = BackingOff();
  driver.Kill("enough");
  driver.Report("worker:1", Killed());
  driver.Exit("worker:1");

  EXPECT_THAT(Orders(driver.PassToDeadline()), ElementsAre("kill c-worker-0"));
}

TEST(JobRestartTroubleTest, TheTimeLimitOfTheJobCountsWhileItRestarts) {
  JobDriver driver = RestartingGang(TroubledCollective().Timeout(Duration(5000)));

  const TurnResult turn = driver.Pass(Duration(5000));

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kTimeout);
  EXPECT_EQ(driver.Told("worker:0"), "release");
}

TEST(JobRestartTroubleTest, ARestartedAttemptHasTheWholeTimeToRegister) {
  constexpr Duration kWhole{20'000};
  JobDriver driver = RestartingGang(TroubledCollective().RegistrationTimeout(kWhole));
  driver.Wait(kWhole);
  driver.Report("worker:1", Killed());
  driver.Register("worker:0#2");
  driver.Wait(kWhole - Duration(1));
  driver.Heartbeat("worker:0#2", Phase::kWaiting, 0);
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), Not(Contains("job_stopping")));

  const TurnResult turn = driver.Pass(Duration(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("missing worker:1"));
}

TEST(JobRestartTroubleTest, WhoDoesNotStopInItsGraceIsEndedAndTheRestartGoesOn) {
  JobDriver driver = RestartingGang();
  EXPECT_THAT(Orders(driver.Pass(kGrace)), IsEmpty());

  EXPECT_THAT(Orders(driver.PassToDeadline()), ElementsAre("kill c-worker-1"));
  const TurnResult turn = driver.Exit("worker:1");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "container_ended", "restart_began"));
  EXPECT_THAT(Orders(turn), Contains("request worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
}

// ---- losses

TEST(JobRestartTroubleTest, ALostContainerDelaysTheRestartUntilItIsGone) {
  JobDriver driver(Alone().Build());
  driver.Running();
  EXPECT_THAT(Decisions(driver.Report("worker:0", {.cls = OutcomeClass::kInfra})),
              ElementsAre("attempt_ended", "restart_decided"));
  driver.Wait(Duration(1000));

  EXPECT_THAT(Decisions(driver.Exit("worker:0")), ElementsAre("container_ended", "restart_began"));
}

TEST(JobRestartTroubleTest, AContainerThatNobodySaysIsGoneIsNotWaitedForLongerThanItTakesToBeSure) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Report("worker:0", {.cls = OutcomeClass::kInfra});
  driver.Wait(Duration(5000));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Orders(driver.Pass(Duration(0))), ElementsAre("kill c-worker-0"));
  driver.Wait(kConfirm - Duration(5001));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  EXPECT_EQ(driver.job().NextDeadline(), driver.now() + Duration(1));

  const TurnResult turn = driver.Pass(Duration(1));

  EXPECT_THAT(Decisions(turn), ElementsAre("restart_began"));
  EXPECT_THAT(Orders(turn), Contains("request worker:0#2"));
}

TEST(JobRestartTroubleTest, ANodeThatFallsSilentIsReplacedWithoutACharge) {
  JobDriver driver(Alone().Build());
  driver.Running();
  for (int i = 0; i < 11; ++i) {
    driver.Pass(Duration(5000));
    driver.Heartbeat("worker:1");
  }
  driver.Wait(Duration(5000));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Orders(driver.Pass(Duration(0))), ElementsAre("kill c-worker-0"));

  const TurnResult lost = driver.Exit("worker:0");

  EXPECT_THAT(Decisions(lost), ElementsAre("attempt_ended", "container_ended", "restart_decided", "restart_began"));
  EXPECT_FALSE(Find<RestartDecided>(lost)->charged);
  EXPECT_THAT(Orders(lost), Contains("request worker:0#2"));
}

TEST(JobRestartTroubleTest, ARenewedExecutorThatIsNeverHeardIsSuspectedAndLost) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  ASSERT_EQ(driver.Told("worker:0"), "next 2");

  driver.Wait(Duration(5000));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(0))), ElementsAre("attempt_suspected"));
  EXPECT_TRUE(driver.StatusOf("worker:0").suspect);
  driver.Wait(Duration(55'000));
  driver.Heartbeat("worker:1");
  EXPECT_THAT(Orders(driver.Pass(Duration(0))), ElementsAre("kill c-worker-0"));
  driver.Wait(kConfirm);
  driver.Heartbeat("worker:1");
  const TurnResult turn = driver.Pass(Duration(0));

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ended", "restart_decided", "restart_began"))
      << "what can be waited for has been";
  EXPECT_EQ(driver.StateOf("worker:0#2"), AttemptState::kLost);
  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_FALSE(Find<RestartDecided>(turn)->charged);
}

TEST(JobRestartTroubleTest, AStragglerOfAReplacedAttemptIsRefusedWhateverItCalls) {
  JobDriver driver(Alone().Build());
  driver.Running();
  driver.Exit("worker:0");
  driver.Grant("worker:0#2");

  for (const TurnResult& turn : {driver.Register("worker:0", Phase::kRunning, 100), driver.Heartbeat("worker:0"),
                                 driver.Await("worker:0"), driver.Report("worker:0", Success())}) {
    ASSERT_TRUE(turn.refusal);
    EXPECT_EQ(turn.refusal->reason, RefusalReason::kStaleAttempt);
    EXPECT_THAT(Decisions(turn), IsEmpty());
  }
}

TEST(JobRestartTroubleTest, LateCallsOfTheAttemptBeforeInTheSameExecutorChangeNothing) {
  JobDriver driver(Alone().Restarts(kTask, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Register("worker:0#2");

  EXPECT_FALSE(driver.Report("worker:0", Failure(1)).refusal) << "its acknowledgement was lost";
  EXPECT_FALSE(driver.Await("worker:0").refusal);
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
  EXPECT_TRUE(driver.Heartbeat("worker:0").refusal) << "it says that it still runs";
  EXPECT_EQ(driver.StateOf("worker:0#2"), AttemptState::kRegistered);
}

TEST(JobRestartTroubleTest, TheAttemptToComeIsUnknownUntilItIsMade) {
  JobDriver driver = RestartingGang();
  Caller early = driver.CallerOf("worker:0");
  early.attempt.number = 2;

  const TurnResult turn = driver.Observe(RegisterCall{early, {EndpointOf("worker:0")}});

  ASSERT_TRUE(turn.refusal);
  EXPECT_EQ(turn.refusal->reason, RefusalReason::kUnknownAttempt);
}

// Its end is told by the scheduler alone; the class that it names decides.
TEST(JobRestartTroubleTest, AnEndBeforeTheRegistrationIsALossWhateverItsReason) {
  JobDriver driver(Alone().Build());
  driver.Gathering();

  driver.Observe(ContainerEvent{ContainerExited{ContainerOf("worker:0"), {}, "", OutcomeClass::kOom}});

  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kLost);
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kOom) << "the same ask would end the same way";
}

TEST(JobRestartTroubleTest, AnEndForWantOfMemoryNamesWhatTheJobAskedFor) {
  JobDriver driver(Alone().Build());
  driver.Gathering();
  driver.Register("worker:0");

  driver.Observe(ContainerEvent{
      ContainerExited{ContainerOf("worker:0"), {}, "out of memory: the limit was reached", OutcomeClass::kOom}});

  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kOom);
  EXPECT_THAT(driver.job().verdict()->message,
              testing::HasSubstr("out of memory: the limit was reached; tony.worker.memory is 2048 MB"));
}

TEST(JobRestartTroubleTest, WhatTheSchedulerKnowsOfAnEndIsBelievedWhereNobodySawMore) {
  const auto end = [](const std::optional<Outcome>& kept, OutcomeClass cls) {
    JobDriver driver(Alone().NoRestarts().Build());
    driver.Running();
    ContainerExited exited{ContainerOf("worker:0"), {}, "", cls};
    if (kept) exited.kept = KeptOutcome{{{"worker", 0}, 1}, *kept};
    driver.Observe(ContainerEvent{exited});
    return driver.StatusOf("worker:0").outcome->cls;
  };
  EXPECT_EQ(end(std::nullopt, OutcomeClass::kNodeLost), OutcomeClass::kNodeLost);
  EXPECT_EQ(end(Killed(), OutcomeClass::kPreempted), OutcomeClass::kPreempted);
  EXPECT_EQ(end(Failure(1), OutcomeClass::kPreempted), OutcomeClass::kUserError);
  EXPECT_EQ(end(Success(), OutcomeClass::kNodeLost), OutcomeClass::kSuccess);
}

// ---- silence while it is being stopped

TEST(JobRestartTroubleTest, ARestartDoesNotWaitForEverForANodeThatIsGone) {
  JobDriver driver = RestartingGang();
  driver.Wait(kGrace);

  EXPECT_THAT(Orders(driver.PassToDeadline()), Contains("kill c-worker-1"));
  const Instant killed = driver.now();
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("attempt_ended", "restart_began"));

  EXPECT_GE(driver.now() - killed, Timers().lost_after) << "it may be cut off, and stops itself by then";
}

}  // namespace
}  // namespace tony::am
