// First come, first served: tasks that need not know each other start as they register.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "runtime/job/cluster_spec.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

JobBuilder Batch() { return JobBuilder().Role("worker", 3).Framework(FrameworkKind::kTensorflow).Fcfs(); }

TEST(JobFcfsTest, ATaskStartsAsSoonAsItHasRegistered) {
  JobDriver driver(Batch().Build());
  driver.Accepted();
  EXPECT_EQ(driver.Status().state, "RUNNING");
  driver.Grant("worker:1");

  const TurnResult turn = driver.Register("worker:1");

  EXPECT_THAT(Orders(turn), ElementsAre("tell worker:1#1"));
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_THAT(Decisions(driver.Heartbeat("worker:1")), ElementsAre("attempt_ran"));
  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kRequested);
}

TEST(JobFcfsTest, ATaskIsToldOfNobody) {
  JobDriver driver(Batch().Build());
  driver.Accepted();
  driver.Grant("worker:1");
  driver.Register("worker:1");

  const auto cluster = ClusterSpecFromJson(driver.CommandFor("worker:1").cluster_spec);

  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  EXPECT_EQ(cluster->generation, Generation{1});
  EXPECT_THAT(cluster->roles, IsEmpty());
}

TEST(JobFcfsTest, OneMayEndBeforeAnotherHasAContainerAndAllHaveToSucceed) {
  JobDriver driver(Batch().Build());
  driver.Accepted();
  for (const char* task : {"worker:0", "worker:1", "worker:2"}) {
    EXPECT_EQ(driver.Status().state, "RUNNING");
    driver.Grant(task);
    driver.Register(task);
    driver.Heartbeat(task);
    driver.Report(task, Success());
  }
  EXPECT_EQ(driver.job().verdict()->state, FinalState::kSucceeded);
}

TEST(JobFcfsTest, AFailedTaskComesBackAloneAndStartsAtOnce) {
  JobDriver driver(Batch().Framework(FrameworkKind::kTensorflow).Restarts(RestartScope::kTask, 1).Build());
  driver.Running();

  driver.Report("worker:0", Failure(1));
  EXPECT_EQ(driver.Told("worker:0"), "next 2");
  driver.Register("worker:0#2");

  EXPECT_EQ(driver.Told("worker:0#2"), "start 1");
  EXPECT_EQ(driver.Told("worker:1"), "start 1");
  EXPECT_EQ(driver.Status().generation, Generation{1});
}

TEST(JobFcfsTest, ARestartOfTheWholeGangLetsEachStartAsItRegisters) {
  JobDriver driver(Batch().Restarts(RestartScope::kGang, 1).Build());
  driver.Running();
  driver.Report("worker:0", Failure(1));
  EXPECT_EQ(driver.Status().state, "RESTARTING");
  driver.Report("worker:1", Killed());
  driver.Report("worker:2", Killed());
  EXPECT_EQ(driver.Status().state, "RUNNING");

  driver.Register("worker:2#2");

  EXPECT_EQ(driver.Told("worker:2#2"), "start 2");
}

TEST(JobFcfsTest, ANewMasterKnowsWhoWasToldToStart) {
  JobDriver driver(Batch().Build());
  driver.Accepted();
  driver.Grant("worker:0");
  driver.Register("worker:0");
  driver.Grant("worker:1");
  driver.Register("worker:1");
  driver.Heartbeat("worker:1");

  driver.Replay();
  driver.Start({2});

  EXPECT_EQ(driver.Told("worker:0"), "start 1");
  EXPECT_EQ(driver.StateOf("worker:1"), AttemptState::kRunning);
  driver.Grant("worker:2");
  driver.Register("worker:2");
  EXPECT_EQ(driver.Told("worker:2"), "start 1");
}

TEST(JobFcfsTest, ATaskThatHasNotRegisteredInTimeFailsTheJob) {
  JobDriver driver(Batch().RegistrationTimeout(Duration(10'000)).Build());
  driver.Accepted();
  driver.Grant("worker:0");

  EXPECT_THAT(Decisions(driver.Pass(Duration(10'000))), Contains("job_stopping"));
}

}  // namespace
}  // namespace tony::am
