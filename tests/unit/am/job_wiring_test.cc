// What tasks are told of each other beside their addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "am/core/job.h"
#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

JobBuilder WithPorts() { return JobBuilder().Role("driver", 1).Role("worker", 2).Framework(FrameworkKind::kStaged); }

ClusterSpec ClusterToldTo(const JobDriver& driver, std::string_view task) {
  const auto cluster = ClusterSpecFromJson(driver.CommandFor(task).cluster_spec);
  CHECK(cluster.ok());
  return *cluster;
}

TEST(JobWiringTest, EveryTaskIsToldOfTheNamedPortsOfAll) {
  JobDriver driver(WithPorts().Build());
  driver.Gathering().RegisterAll();
  EXPECT_THAT(ClusterToldTo(driver, "driver:0").ports,
              ElementsAre(Pair(TaskId{"driver", 0}, NamedPorts{{"control", 5000}, {"data", 5001}}),
                          Pair(TaskId{"worker", 0}, NamedPorts{{"data", 5000}, {"tensorboard", 5001}}),
                          Pair(TaskId{"worker", 1}, NamedPorts{{"data", 5000}})));
}

TEST(JobWiringTest, EveryTaskIsToldHowManyProcessesTheOthersHave) {
  JobSpec spec = WithPorts().Build();
  spec.roles[1].processes = 3;
  JobDriver driver(spec);
  driver.Gathering().RegisterAll();
  EXPECT_THAT(ClusterToldTo(driver, "driver:0").processes, ElementsAre(Pair("worker", 3)));
}

TEST(JobWiringTest, NamedPortsAreJournalledWithTheRegistration) {
  JobDriver driver(WithPorts().Build());
  driver.Gathering();
  const TurnResult turn = driver.Register("worker:0");
  ASSERT_TRUE(Find<AttemptRegistered>(turn));
  EXPECT_THAT(Find<AttemptRegistered>(turn)->ports, ElementsAre(Pair("data", 5000), Pair("tensorboard", 5001)));
  driver.RegisterAll();
  const Command before = driver.CommandFor("driver:0");
  driver.Replay();
  driver.Start({2});
  EXPECT_EQ(driver.CommandFor("driver:0"), before);
}

TEST(JobWiringTest, TensorBoardIsShownWhileItsSidecarRuns) {
  JobDriver driver(JobBuilder().Role("tensorboard", 1, Completion::kSidecar).Role("worker", 1).Build());
  driver.Gathering().RegisterAll();
  EXPECT_EQ(driver.Status().tensorboard_url, "");
  driver.RunAll();
  EXPECT_EQ(driver.Status().tensorboard_url, "http://node-tensorboard-0:5000/");
  driver.Replay();
  driver.Start({2});
  EXPECT_EQ(driver.Status().tensorboard_url, "http://node-tensorboard-0:5000/");
  driver.Report("tensorboard:0", Failure(1));
  EXPECT_EQ(driver.Status().tensorboard_url, "");
}

TEST(JobWiringTest, AChiefsOwnTensorBoardIsNotShown) {
  JobDriver driver(JobBuilder().Role("worker", 2).Build());
  driver.Running();
  EXPECT_EQ(driver.Status().tensorboard_url, "");
}

TEST(JobWiringTest, AnExecutorCannotComeBackWithOtherPorts) {
  JobDriver driver(WithPorts().Build());
  driver.Running();
  RegisterCall call{driver.CallerOf("worker:1"), {EndpointOf("worker:1"), Phase::kRunning, 100, {{"data", 5000}}}};
  EXPECT_FALSE(driver.Observe(call).refusal);
  for (const NamedPorts& others : {NamedPorts(), NamedPorts{{"data", 5001}}}) {
    call.registration.ports = others;
    const TurnResult turn = driver.Observe(call);
    ASSERT_TRUE(turn.refusal);
    EXPECT_EQ(turn.refusal->reason, RefusalReason::kBadRequest);
    EXPECT_THAT(Decisions(turn), IsEmpty());
  }
}

TEST(JobWiringTest, ATaskInANewContainerHasTheNamedPortsOfThatOne) {
  JobDriver driver(WithPorts().Build());
  driver.Gathering();
  for (const auto* task : {"driver:0", "worker:0", "worker:1"}) driver.ConfirmLaunch(task);
  driver.Register("worker:1");
  driver.Exit("worker:1");
  driver.Grant("worker:1#2");
  driver.Observe(
      RegisterCall{driver.CallerOf("worker:1#2"), {EndpointOf("worker:1#2"), Phase::kWaiting, 0, {{"data", 77}}}});
  driver.Register("driver:0");
  driver.Register("worker:0");
  EXPECT_EQ(ClusterToldTo(driver, "driver:0").ports.at({"worker", 1}), (NamedPorts{{"data", 77}}));
}

}  // namespace
}  // namespace tony::am
