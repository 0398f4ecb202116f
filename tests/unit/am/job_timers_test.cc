// Limits of the whole job, and when the core wants to be woken for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kTick{1};
constexpr Duration kRegistration{30000};
constexpr Duration kJobTimeout{45000};

JobSpec Limited() {
  Timers patient;
  patient.suspect_after = patient.lost_after = std::chrono::hours(24);
  return JobBuilder().Role("worker", 3).Timeout(kJobTimeout).RegistrationTimeout(kRegistration).With(patient).Build();
}

JobSpec Unlimited() { return JobBuilder().Role("worker", 1).Build(); }

TEST(JobTimersTest, ARegistrationTimeoutNamesWhoIsMissingAndTheKey) {
  JobDriver driver(Limited());
  driver.Gathering();
  driver.Register("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(kRegistration - kTick)), IsEmpty());

  const TurnResult turn = driver.Pass(kTick);

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  const Verdict& verdict = *driver.job().verdict();
  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kTimeout);
  EXPECT_THAT(verdict.message, HasSubstr("missing worker:0, worker:2"));
  EXPECT_THAT(verdict.message, HasSubstr("30.0 s"));
  EXPECT_THAT(verdict.message, HasSubstr("tony.container.registration.timeout"));
}

TEST(JobTimersTest, ManyMissingTasksAreCountedNotListed) {
  JobDriver driver(JobBuilder().Role("worker", 100).RegistrationTimeout(kRegistration).Build());
  driver.Gathering();

  driver.Pass(kRegistration);

  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("worker:4 and 95 more"));
}

TEST(JobTimersTest, WaitingForAContainerIsNotLateRegistration) {
  Timers patient;
  patient.suspect_after = patient.lost_after = std::chrono::hours(24);
  JobDriver driver(JobBuilder().Role("worker", 2).RegistrationTimeout(kRegistration).With(patient).Build());
  driver.Accepted();
  driver.Grant("worker:0");
  driver.Register("worker:0");
  EXPECT_THAT(Decisions(driver.Pass(10 * kRegistration)), Not(Contains("job_stopping")));
  driver.Grant("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(kRegistration - kTick)), Not(Contains("job_stopping")));

  EXPECT_THAT(Decisions(driver.Pass(kTick)), Contains("job_stopping"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("missing worker:1"));
}

TEST(JobTimersTest, ARegistryTimeoutCountsFromTheContainersStartAndNamesTheTask) {
  JobDriver driver(JobBuilder().Role("worker", 2).RegistryTimeout(Duration(2000)).Build());
  driver.Gathering();
  driver.Pass(Duration(5000));
  EXPECT_FALSE(driver.job().verdict()) << "no container has started";
  driver.ConfirmLaunch("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(Duration(2000) - kTick)), Not(Contains("job_stopping")));

  EXPECT_THAT(Decisions(driver.Pass(kTick)), Contains("job_stopping"));

  const Verdict& verdict = *driver.job().verdict();
  EXPECT_EQ(verdict.state, FinalState::kFailed);
  EXPECT_EQ(verdict.cls, OutcomeClass::kTimeout);
  EXPECT_EQ(
      verdict.message,
      "worker:1 did not register within 2.0 s of its container's start (tony.task.executor.registry-timeout-sec)");
}

TEST(JobTimersTest, WhoHasRegisteredHasKeptTheRegistryTimeout) {
  JobDriver driver(JobBuilder().Role("worker", 1).RegistryTimeout(Duration(2000)).Build());
  driver.Gathering();
  driver.ConfirmLaunch("worker:0");
  driver.Register("worker:0");

  EXPECT_THAT(Decisions(driver.Pass(Duration(4000))), Not(Contains("job_stopping")));
}

TEST(JobTimersTest, OfTwoRegistrationLimitsTheNearerOneHolds) {
  JobDriver driver(
      JobBuilder().Role("worker", 1).RegistrationTimeout(Duration(1000)).RegistryTimeout(Duration(2000)).Build());
  driver.Gathering();
  driver.ConfirmLaunch("worker:0");

  driver.Pass(Duration(1000));

  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("tony.container.registration.timeout"));
}

TEST(JobTimersTest, TheRegistryTimeoutCountsAcrossMasters) {
  JobDriver driver(JobBuilder().Role("worker", 1).RegistryTimeout(Duration(20'000)).Build());
  driver.Gathering();
  driver.ConfirmLaunch("worker:0");
  driver.Wait(Duration(15'000));
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Pass(Duration(5000) - kTick)), Not(Contains("job_stopping")));
  EXPECT_THAT(Decisions(driver.Pass(kTick)), Contains("job_stopping"));
}

TEST(JobTimersTest, AnAllocationTimeoutNamesWhoHasNoContainerAndTheKey) {
  JobDriver driver(JobBuilder().Role("worker", 3).AllocationTimeout(kJobTimeout).Build());
  driver.Accepted();
  driver.Grant("worker:1");
  EXPECT_THAT(Decisions(driver.Pass(kJobTimeout - kTick)), Not(Contains("job_stopping")));

  EXPECT_THAT(Decisions(driver.Pass(kTick)), Contains("job_stopping"));

  const Verdict& verdict = *driver.job().verdict();
  EXPECT_EQ(verdict.cls, OutcomeClass::kTimeout);
  EXPECT_THAT(verdict.message, HasSubstr("45.0 s (tony.container.allocation.timeout): missing worker:0, worker:2"));
}

TEST(JobTimersTest, AnAllocationTimeoutOfAJobWithoutAnyContainerEndsItAtOnce) {
  JobDriver driver(JobBuilder().Role("worker", 2).AllocationTimeout(kJobTimeout).Build());
  driver.Accepted();

  const TurnResult turn = driver.Pass(kJobTimeout);

  EXPECT_THAT(Orders(turn), ElementsAre("withdraw worker:0#1 worker:1#1", "end job"));
  EXPECT_EQ(driver.Status().state, "FAILED");
}

TEST(JobTimersTest, WhereAllHaveContainersTheAllocationTimeoutIsOver) {
  JobDriver driver(JobBuilder().Role("worker", 2).AllocationTimeout(kJobTimeout).Build());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Pass(kJobTimeout)), Not(Contains("job_stopping")));
}

TEST(JobTimersTest, AfterTheGangHasFormedTheRegistrationTimeoutIsOver) {
  JobDriver driver(Limited());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Pass(kRegistration)), IsEmpty());
}

TEST(JobTimersTest, TheApplicationTimeoutFailsARunningJobAndNamesTheKey) {
  JobDriver driver(Limited());
  driver.Running();
  EXPECT_THAT(Decisions(driver.Pass(kJobTimeout - kTick)), IsEmpty());

  const TurnResult turn = driver.Pass(kTick);

  EXPECT_THAT(Decisions(turn), ElementsAre("job_stopping"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:0#1", "tell worker:1#1", "tell worker:2#1"));
  EXPECT_EQ(driver.job().verdict()->cls, OutcomeClass::kTimeout);
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("45.0 s"));
  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("tony.application.timeout"));
}

TEST(JobTimersTest, TheApplicationTimeoutHoldsWhileTheGangGathers) {
  JobDriver driver(JobBuilder().Role("worker", 1).Timeout(kJobTimeout).RegistrationTimeout(kJobTimeout * 2).Build());
  driver.Gathering();

  driver.Pass(kJobTimeout);

  EXPECT_THAT(driver.job().verdict()->message, HasSubstr("tony.application.timeout"));
}

TEST(JobTimersTest, TheApplicationTimeoutCountsFromAcceptanceAcrossMasters) {
  JobDriver driver(Limited());
  driver.Running();
  driver.Wait(kJobTimeout - Duration(5000));
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Pass(Duration(5000) - kTick)), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kTick)), ElementsAre("job_stopping"));
}

TEST(JobTimersTest, TheRegistrationTimeoutCountsFromAcceptanceAcrossMasters) {
  JobDriver driver(Limited());
  driver.Gathering();
  driver.Wait(kRegistration - kTick);
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Pass(kTick)), ElementsAre("job_stopping"));
}

TEST(JobTimersTest, ATimeoutThatPassedWhileNoMasterLivedIsDueAtOnce) {
  JobDriver driver(Limited());
  driver.Running();
  driver.Wait(kJobTimeout * 2);
  driver.Replay();
  driver.Start({2});

  ASSERT_LE(*driver.job().NextDeadline(), driver.now());
  EXPECT_THAT(Decisions(driver.PassToDeadline()), ElementsAre("job_stopping"));
}

TEST(JobTimersTest, AJobThatStopsHasNoTimeoutLeft) {
  JobDriver driver(Limited());
  driver.Running();
  driver.Kill("slowly", std::chrono::hours(1));

  EXPECT_THAT(Decisions(driver.Pass(kJobTimeout)), Not(Contains("job_stopping")));
}

TEST(JobTimersTest, WithoutATimeoutAJobRunsForEver) {
  JobDriver driver(Unlimited());
  driver.Running();
  for (int day = 0; day < 1000; ++day) {
    driver.WaitWithoutRenewal(std::chrono::hours(24));
    driver.Wait(kTick);
    driver.Heartbeat("worker:0");
    ASSERT_THAT(Decisions(driver.Pass(Duration(0))), IsEmpty());
  }
}

TEST(JobTimersTest, TheNextDeadlineIsTheSoonest) {
  JobDriver driver(Limited());
  driver.Gathering();
  EXPECT_EQ(driver.job().NextDeadline(), JobDriver::kStart + kRegistration);

  driver.RegisterAll();
  EXPECT_EQ(driver.job().NextDeadline(), JobDriver::kStart + kJobTimeout);
}

TEST(JobTimersTest, AnEndedJobWantsNoTimer) {
  JobDriver driver(Limited());
  driver.Accepted();
  driver.Kill();

  EXPECT_EQ(driver.job().NextDeadline(), std::nullopt);
  EXPECT_THAT(Decisions(driver.Pass(kJobTimeout)), IsEmpty());
}

}  // namespace
}  // namespace tony::am
