// Where one time meets another, and who comes first of two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"
#include "tests/unit/am/usual_jobs.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;

constexpr Duration kJustLater{1};
constexpr Duration kSuspect{5000};
constexpr Duration kEdgeGrace{10'000};
constexpr Duration kLeave{5000};  // what an executor gets to leave, beyond its task's grace

JobBuilder Watched(Duration suspect_after, Duration record_fresh) {
  return JobBuilder()
      .Role("worker", 2)
      .Framework(FrameworkKind::kStandalone)
      .RegistrationTimeout(std::chrono::hours(24))
      .With({.suspect_after = suspect_after,
             .grace = kEdgeGrace,
             .lost_after = kSuspect * 12,
             .record_fresh = record_fresh});
}

JobDriver Running(const JobBuilder& builder) {
  JobDriver driver(builder.Build());
  driver.Running();
  return driver;
}

// ---- silence

TEST(JobEdgeTest, SilenceBeginsAnewOnlyAfterARecordThatWasStale) {
  constexpr Duration kFresh{2000};
  for (const Duration late : {Duration(0), kJustLater}) {
    JobDriver driver = Running(Watched(kSuspect, kFresh));
    const Instant heard = driver.now();
    driver.WaitWithoutRenewal(kFresh + late);
    driver.Observe(LeaseRenewed{});
    EXPECT_EQ(driver.job().NextDeadline(), (late == Duration(0) ? heard : driver.now()) + kSuspect);
  }
}

TEST(JobEdgeTest, SilenceCountsUpToTheLastMomentOfAFreshRecord) {
  for (const Duration late : {Duration(0), kJustLater}) {
    JobDriver driver = Running(Watched(kSuspect, kSuspect));
    driver.WaitWithoutRenewal(kSuspect + late);
    const TurnResult turn = driver.Observe(TimePassed{});
    if (late == Duration(0)) {
      EXPECT_THAT(Decisions(turn), ElementsAre("attempt_suspected", "attempt_suspected"));
    } else {
      EXPECT_THAT(Decisions(turn), IsEmpty());
    }
  }
}

TEST(JobEdgeTest, ASuspectThatIsHeardDoesNotPutOffTheLookAtOthers) {
  JobDriver driver = Running(Watched(kSuspect, kSuspect));
  driver.Wait(Duration(4000));
  driver.Heartbeat("worker:1");
  const Instant due = driver.now() + kSuspect;
  driver.Pass(Duration(1000));
  driver.Pass(Duration(0));
  ASSERT_TRUE(driver.StatusOf("worker:0").suspect);
  driver.Wait(Duration(1000));

  EXPECT_THAT(Decisions(driver.Heartbeat("worker:0")), ElementsAre("attempt_heard"));

  EXPECT_EQ(driver.job().NextDeadline(), due);
}

TEST(JobEdgeTest, ARenewedAttemptDoesNotPutOffTheLookAtOthers) {
  JobDriver driver = Running(Watched(kSuspect, kSuspect).Restarts(kTask, 1));
  const Instant due = driver.now() + kSuspect;
  driver.Wait(Duration(3000));

  ASSERT_TRUE(Find<RestartBegan>(driver.Report("worker:0", Failure(1))));

  EXPECT_EQ(driver.job().NextDeadline(), due);
}

// Its container was read to be gone before it was given to the next attempt.
TEST(JobEdgeTest, WhatAnExecutorLeftOfOneAttemptIsNotTheEndOfTheNext) {
  JobDriver driver = Running(Watched(kSuspect, kSuspect).Restarts(kTask, 1));
  const Caller first = driver.CallerOf("worker:0");
  ASSERT_TRUE(Find<RestartBegan>(driver.Report("worker:0", Failure(1))));
  driver.Kill();

  driver.Observe(ContainerEvent{ContainerExited{first.container, {}, "", {}, KeptOutcome{first.attempt, Failure(1)}}});

  ASSERT_TRUE(driver.StatusOf("worker:0").outcome);
  EXPECT_FALSE(driver.StatusOf("worker:0").outcome->exit);
}

// ---- stops

TEST(JobEdgeTest, ANewMasterGivesWhoIsBeingStoppedItsWholeGraceAgain) {
  JobDriver driver = Running(Watched(kSuspect * 4, kSuspect));
  driver.Kill();
  driver.Wait(kEdgeGrace);
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Pass(kEdgeGrace + kLeave - kJustLater)), IsEmpty());
  EXPECT_THAT(Decisions(driver.Pass(kJustLater)), ElementsAre("container_kill_ordered"));
}

TEST(JobEdgeTest, WhoIsBeingStoppedIsNotToldAgainOfTheSameGrace) {
  JobDriver driver = Running(Watched(kSuspect, kSuspect).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1));
  driver.Report("worker:0", Failure(1));
  ASSERT_EQ(driver.Told("worker:1"), "stop");

  EXPECT_THAT(Orders(driver.Kill("enough", kEdgeGrace)), ElementsAre("tell worker:0#1"));
}

TEST(JobEdgeTest, ACommandToGoOnIsNumberedAboveAStopAndBelowARelease) {
  JobDriver driver = Running(Watched(kSuspect, kSuspect).Framework(FrameworkKind::kPytorch).Restarts(kGang, 1));
  driver.Report("worker:0", Failure(1));
  const int64_t stop = driver.CommandFor("worker:1").number;
  driver.Exit("worker:1", Killed());
  ASSERT_EQ(driver.Told("worker:0"), "next 2");
  ASSERT_EQ(driver.Told("worker:1"), "release");

  EXPECT_LT(stop, driver.CommandFor("worker:0").number);
  EXPECT_LT(driver.CommandFor("worker:0").number, driver.CommandFor("worker:1").number);
}

// ---- ends that come early

TEST(JobEdgeTest, OneThatRegisteredAndWasNotHeardToRunHasFailedOrWasLostAsItsEndSays) {
  for (const bool reported : {true, false}) {
    JobDriver driver(Watched(kSuspect, kSuspect).NoRestarts().Build());
    driver.Gathering().RegisterAll();
    ASSERT_EQ(driver.StateOf("worker:0"), AttemptState::kRegistered);
    if (reported) {
      driver.Report("worker:0", Failure(1));
    } else {
      driver.Exit("worker:0");
    }
    EXPECT_EQ(driver.StateOf("worker:0"), reported ? AttemptState::kFailed : AttemptState::kLost);
  }
}

TEST(JobEdgeTest, AGangRestartsAlsoBeforeItHasFormed) {
  for (const bool all_granted : {false, true}) {
    JobDriver driver(Watched(kSuspect, kSuspect).NoRestarts().Restarts(kGang, 1).Build());
    driver.Accepted();
    driver.Grant("worker:0");
    if (all_granted) driver.Grant("worker:1");
    ASSERT_EQ(driver.job().state(), all_granted ? JobState::kGathering : JobState::kAllocating);

    const TurnResult turn = driver.Exit("worker:0");

    ASSERT_TRUE(Find<RestartDecided>(turn));
    EXPECT_EQ(Find<RestartDecided>(turn)->scope, kGang);
    if (all_granted) {
      EXPECT_EQ(driver.job().state(), JobState::kRestarting);
      driver.Exit("worker:1");
    }
    driver.GrantAll().RegisterAll();
    EXPECT_EQ(driver.job().state(), JobState::kRunning);
  }
}

// ---- of two or many

TEST(JobEdgeTest, OfTwoRestartsTheSoonerOneWakesTheMaster) {
  JobDriver driver =
      Running(Watched(kSuspect * 4, kSuspect * 4).Restarts(kTask, 3).Backoff(Duration(1000), Duration(8000)));
  for (const char* task : {"worker:0", "worker:1"}) driver.Report(task, Failure(1));
  for (const char* task : {"worker:0#2", "worker:1#2"}) driver.Register(task);
  driver.Report("worker:0#2", Failure(1));
  const Instant due = driver.now() + Duration(1000);
  driver.Wait(Duration(500));
  driver.Report("worker:1#2", Failure(1));

  EXPECT_EQ(driver.job().NextDeadline(), due);
}

TEST(JobEdgeTest, FiveMissingTasksAreAllNamed) {
  JobDriver driver(JobBuilder().Role("worker", 5).RegistrationTimeout(Duration(1000)).Build());
  driver.Gathering();

  driver.Pass(Duration(1000));

  EXPECT_THAT(driver.job().verdict()->message, EndsWith("worker:3, worker:4"));
}

}  // namespace
}  // namespace tony::am
