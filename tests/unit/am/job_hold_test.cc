// Containers on a cluster in which nothing runs yet, or again: they are not held for ever.
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
using testing::Not;

constexpr Duration kHold{30'000};

JobSpec OnYarn(JobBuilder builder) {
  JobSpec spec = builder.Build();
  spec.scheduler = kYarnScheduler;
  spec.yarn.gang_hold = kHold;
  return spec;
}

JobBuilder GangOfThree() {
  return JobBuilder().Role("worker", 3).Framework(FrameworkKind::kPytorch).Restarts(kGang, 2);
}

// Two go on in their containers, and wait for a third one.
void LoseOne(JobDriver& driver) {
  driver.Running();
  driver.Report("worker:0", Failure(1));
  driver.Exit("worker:1");
  driver.Report("worker:2", Killed());
  driver.Register("worker:0#2");
}

TEST(JobHoldTest, AGangThatWaitsTooLongForTheRestGivesBackWhatItHas) {
  JobDriver driver(OnYarn(GangOfThree()));
  LoseOne(driver);
  EXPECT_THAT(Decisions(driver.Pass(kHold - Duration(1))), Not(Contains("restart_decided")));
  EXPECT_LE(driver.job().NextDeadline(), driver.now() + Duration(1));

  const TurnResult turn = driver.Pass(Duration(1));

  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_EQ(Find<RestartDecided>(turn)->scope, kJob);
  EXPECT_FALSE(Find<RestartDecided>(turn)->charged);
  EXPECT_THAT(Orders(turn), Contains("withdraw worker:1#2"));
  EXPECT_EQ(driver.Told("worker:0#2"), "stop");
  driver.Report("worker:0#2", Killed());
  driver.Register("worker:2#2");
  driver.Report("worker:2#2", Killed());
  EXPECT_EQ(driver.Told("worker:0#2"), "release");
  driver.Exit("worker:0#2");
  EXPECT_THAT(Orders(driver.Exit("worker:2#2")), Contains("request worker:0#3 worker:1#3 worker:2#3"));
  driver.GrantAll().RegisterAll();
  EXPECT_EQ(driver.Told("worker:0#3"), "start 2");
  EXPECT_THAT(driver.Status().restarts.back().reason,
              HasSubstr("worker:1 got no container for 30.0 s (tony.yarn.gang-hold)"));
}

// Meanwhile a master without its lease could be told of no container.
TEST(JobHoldTest, AGapOfTheLeaseIsNoneOfTheWait) {
  JobDriver driver(OnYarn(GangOfThree()));
  LoseOne(driver);
  driver.WaitWithoutRenewal(kHold - Duration(1));
  driver.Observe(LeaseRenewed{});
  EXPECT_THAT(Decisions(driver.Pass(kHold - Duration(1))), Not(Contains("restart_decided")));
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), Contains("restart_decided"));
}

TEST(JobHoldTest, AStartingGangThatLosesOneGivesBackTheOthersToo) {
  JobDriver driver(OnYarn(GangOfThree()));
  driver.Gathering();
  driver.Register("worker:0");
  driver.Exit("worker:1");

  EXPECT_THAT(Decisions(driver.Pass(kHold)), Contains("restart_decided"));
}

TEST(JobHoldTest, AContainerThatComesBeginsTheWaitAnew) {
  JobDriver driver(OnYarn(GangOfThree()));
  driver.Accepted();
  driver.Grant("worker:0");
  driver.Pass(kHold - Duration(1));
  driver.Grant("worker:1");

  EXPECT_THAT(Decisions(driver.Pass(kHold - Duration(1))), Not(Contains("restart_decided")));
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), Contains("restart_decided"));
}

TEST(JobHoldTest, WhoHasNothingHasNothingToGiveBack) {
  JobDriver driver(OnYarn(GangOfThree()));
  driver.Accepted();

  EXPECT_THAT(Decisions(driver.Pass(10 * kHold)), Not(Contains("restart_decided")));
}

TEST(JobHoldTest, WhoEachRunAloneKeepWhatTheyHave) {
  for (const JobSpec& spec : {OnYarn(Alone()), OnYarn(Alone().Fcfs())}) {
    JobDriver driver(spec);
    driver.Running();
    driver.Exit("worker:1");

    EXPECT_THAT(Decisions(driver.Pass(kHold)), Not(Contains("restart_decided")));
  }
}

TEST(JobHoldTest, OnOneMachineAndWithoutALimitNothingIsGivenBack) {
  JobSpec unlimited = OnYarn(GangOfThree());
  unlimited.yarn.gang_hold = Duration(0);
  for (const JobSpec& spec : {GangOfThree().Build(), unlimited}) {
    JobDriver driver(spec);
    LoseOne(driver);

    EXPECT_THAT(Decisions(driver.Pass(kHold)), Not(Contains("restart_decided")));
  }
}

// Else two gangs that lend each other a node would use up what is for lost nodes.
TEST(JobHoldTest, ContainersThatAreGivenBackTakeFromNoBudget) {
  JobDriver driver(OnYarn(GangOfThree().LostRestarts(1)));
  LoseOne(driver);
  driver.Pass(kHold);
  driver.Exit("worker:0#2");
  driver.Exit("worker:2#2");
  driver.GrantAll().RegisterAll().RunAll();

  const TurnResult turn = driver.Exit("worker:1#3");

  ASSERT_TRUE(Find<RestartDecided>(turn));
  EXPECT_FALSE(Find<RestartDecided>(turn)->charged);
}

TEST(JobHoldTest, ANewMasterBeginsTheWaitAnewAndJudgesTheSame) {
  JobDriver driver(OnYarn(GangOfThree()));
  LoseOne(driver);
  driver.Pass(kHold - Duration(1));
  driver.Replay();
  driver.Start({2});

  EXPECT_THAT(Decisions(driver.Pass(kHold - Duration(1))), Not(Contains("restart_decided")));
  EXPECT_THAT(Decisions(driver.Pass(Duration(1))), Contains("restart_decided"));
  driver.Replay();
  driver.Start({3});
  EXPECT_EQ(driver.Told("worker:0#2"), "stop");
}

TEST(JobHoldTest, ABackOffAboveTheLimitIsNotWaitedForInContainers) {
  JobDriver driver(OnYarn(GangOfThree().Backoff(kHold + Duration(1), Duration(60'000))));
  driver.Running();
  for (const char* task : {"worker:0", "worker:1", "worker:2"}) driver.Report(task, Failure(1));  // the first at once
  ASSERT_EQ(driver.Told("worker:0"), "next 2");
  driver.RegisterAll().RunAll();

  driver.Report("worker:0#2", Failure(1));

  EXPECT_EQ(driver.Told("worker:0#2"), "release");
  driver.Report("worker:1#2", Killed());
  driver.Report("worker:2#2", Killed());
  for (const char* task : {"worker:0#2", "worker:1#2", "worker:2#2"}) driver.Exit(task);
  EXPECT_THAT(Orders(driver.Pass(kHold + Duration(1))), Contains("request worker:0#3 worker:1#3 worker:2#3"));
}

}  // namespace
}  // namespace tony::am
