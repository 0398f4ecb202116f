// The straight way of a job, from acceptance until all of it runs.
#include "am/core/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/job_builder.h"

namespace tony::am {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

JobSpec PsAndTwoWorkers() { return JobBuilder().Role("worker", 2).Role("ps", 1, Completion::kUntracked).Build(); }

TEST(JobTest, TheFirstMasterAcceptsTheJobAndAsksForEveryTask) {
  JobDriver driver(PsAndTwoWorkers());

  const TurnResult turn = driver.Start();

  EXPECT_THAT(Decisions(turn), ElementsAre("job_accepted", "epoch_began", "containers_requested"));
  EXPECT_THAT(Orders(turn), ElementsAre("request ps:0#1 worker:0#1 worker:1#1"));
  EXPECT_EQ(driver.Status().state, "ALLOCATING");
  EXPECT_EQ(driver.StatusOf("worker:1").state, "active");
  EXPECT_EQ(driver.StatusOf("worker:1").attempt_state, "requested");
}

TEST(JobTest, AsksNameTheResourcesOfTheRole) {
  JobSpec spec = PsAndTwoWorkers();
  spec.roles[1].resources = {.memory_mb = 8192, .vcores = 4, .gpus = 2};
  JobDriver driver(spec);

  const TurnResult turn = driver.Start();

  ASSERT_EQ(turn.actions.size(), 1U);
  const auto& asks = std::get<RequestContainers>(turn.actions[0]).asks;
  ASSERT_EQ(asks.size(), 3U);
  EXPECT_EQ(asks[0].resources, Resources{});
  EXPECT_EQ(asks[1].resources, spec.roles[1].resources);
}

TEST(JobTest, AGrantIsLaunchedAtOnce) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();

  const TurnResult turn = driver.Grant("worker:1");

  EXPECT_THAT(Decisions(turn), ElementsAre("container_assigned"));
  EXPECT_THAT(Orders(turn), ElementsAre("launch worker:1#1 in c-worker-1"));
  EXPECT_EQ(driver.StatusOf("worker:1").host, "node-worker-1");
  EXPECT_EQ(driver.job().AttemptIn(ContainerOf("worker:1")), AttemptOf("worker:1"));
}

TEST(JobTest, GrantsMayComeInAnyOrder) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();
  driver.Grant("worker:1");
  driver.Grant("ps:0");

  const TurnResult turn = driver.Grant("worker:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("container_assigned", "gang_allocated"));
  EXPECT_EQ(driver.job().state(), JobState::kGathering);
}

TEST(JobTest, AGrantToldTwiceChangesNothing) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();
  driver.Grant("worker:0");

  const TurnResult turn = driver.Grant("worker:0");

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), IsEmpty());
}

TEST(JobTest, ASecondContainerForTheSameTaskGoesBack) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();
  driver.Grant("worker:0");

  const TurnResult turn = driver.Observe(ContainerEvent{ContainerGranted{AttemptOf("worker:0"), {"surplus"}, "node"}});

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), ElementsAre("kill surplus"));
  EXPECT_EQ(driver.job().AttemptIn({"surplus"}), std::nullopt);
}

TEST(JobTest, AContainerForATaskThatIsNotOursGoesBack) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();

  const TurnResult turn = driver.Grant("evaluator:0");

  EXPECT_THAT(Decisions(turn), IsEmpty());
  EXPECT_THAT(Orders(turn), ElementsAre("kill c-evaluator-0"));
}

TEST(JobTest, ALaunchIsConfirmedOnce) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();

  EXPECT_THAT(Decisions(driver.ConfirmLaunch("worker:0")), ElementsAre("attempt_launched"));
  EXPECT_THAT(Decisions(driver.ConfirmLaunch("worker:0")), IsEmpty());
  EXPECT_THAT(Decisions(driver.ConfirmLaunch("evaluator:0")), IsEmpty());
}

TEST(JobTest, AnExecutorMayRegisterBeforeItsLaunchIsConfirmed) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();

  const TurnResult registered = driver.Register("worker:0");
  const TurnResult confirmed = driver.ConfirmLaunch("worker:0");

  EXPECT_THAT(Decisions(registered), ElementsAre("attempt_registered"));
  EXPECT_THAT(Decisions(confirmed), IsEmpty());
  EXPECT_EQ(driver.StateOf("worker:0"), AttemptState::kRegistered);
}

TEST(JobTest, AnExecutorMayRegisterBeforeOthersHaveAContainer) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Accepted();
  driver.Grant("worker:0");
  driver.Register("worker:0");
  driver.Grant("worker:1");
  driver.Register("worker:1");
  driver.Grant("ps:0");

  const TurnResult turn = driver.Register("ps:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_registered", "generation_formed"));
}

TEST(JobTest, UntilTheLastHasRegisteredThereIsNoCommand) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();
  driver.Register("worker:0");
  driver.Register("worker:1");

  EXPECT_EQ(driver.CommandFor("worker:0"), Command{});
  EXPECT_EQ(driver.job().state(), JobState::kGathering);
}

TEST(JobTest, TheBarrierOpensInTheTurnThatRegistersTheLastTask) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();
  driver.Register("worker:0");
  driver.Register("worker:1");

  const TurnResult turn = driver.Register("ps:0");

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_registered", "generation_formed"));
  EXPECT_THAT(Orders(turn), ElementsAre("tell ps:0#1", "tell worker:0#1", "tell worker:1#1"));
  EXPECT_EQ(driver.job().state(), JobState::kRunning);
  EXPECT_EQ(driver.Status().generation, Generation{1});
}

TEST(JobTest, TheStartCommandHoldsEveryEndpointByRoleAndIndex) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();
  for (const char* task : {"worker:1", "ps:0", "worker:0"}) driver.Register(task);

  const Command command = driver.CommandFor("worker:0");

  EXPECT_EQ(command.kind, Command::Kind::kStart);
  EXPECT_EQ(command.generation, Generation{1});
  const auto cluster = ClusterSpecFromJson(command.cluster_spec);
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(*cluster, (ClusterSpec{.generation = {1},
                                   .roles = {{"ps", {EndpointOf("ps:0")}},
                                             {"worker", {EndpointOf("worker:0"), EndpointOf("worker:1")}}},
                                   .ports = {{{"worker", 0}, {{"tensorboard", 5000}}}}}));
  EXPECT_EQ(driver.CommandFor("ps:0"), command);
}

TEST(JobTest, IndexesAreInOrderOfNumberNotOfText) {
  JobDriver driver(JobBuilder().Role("worker", 12).Build());
  driver.Gathering().RegisterAll();

  const auto cluster = ClusterSpecFromJson(driver.CommandFor("worker:0").cluster_spec);

  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->roles.at("worker")[10], EndpointOf("worker:10"));
}

TEST(JobTest, AHeartbeatSaysThatTheTaskRuns) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering().RegisterAll();
  driver.Wait(Duration(700));

  const TurnResult turn = driver.Heartbeat("worker:0", Phase::kRunning, 4711);

  EXPECT_THAT(Decisions(turn), ElementsAre("attempt_ran"));
  const TaskStatus status = driver.StatusOf("worker:0");
  EXPECT_EQ(status.attempt_state, "running");
  EXPECT_EQ(status.pid, 4711);
  EXPECT_EQ(status.started, driver.now());
}

TEST(JobTest, FurtherHeartbeatsDecideNothing) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Running();

  EXPECT_THAT(Decisions(driver.Heartbeat("worker:0")), IsEmpty());
  EXPECT_THAT(Decisions(driver.Heartbeat("worker:0", Phase::kStopping)), IsEmpty());
}

TEST(JobTest, AHeartbeatBeforeTheStartDecidesNothing) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Gathering();
  driver.Register("worker:0");

  EXPECT_THAT(Decisions(driver.Heartbeat("worker:0", Phase::kWaiting, 0)), IsEmpty());
}

TEST(JobTest, TheSequenceNumberGrowsByTheDecisions) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Running();

  EXPECT_EQ(driver.job().seq(), static_cast<int64_t>(driver.journal().size()));
  EXPECT_EQ(driver.Status().seq, driver.job().seq());
}

TEST(JobTest, TheStatusOfARunningJobHasAllThatIsKnownAndNoVerdict) {
  JobDriver driver(PsAndTwoWorkers());
  driver.Running();

  const JobStatus status = driver.Status();

  EXPECT_EQ(status.state, "RUNNING");
  EXPECT_EQ(status.user, "alice");
  EXPECT_EQ(status.framework, "tensorflow");
  EXPECT_EQ(status.epoch, Epoch{1});
  EXPECT_EQ(status.submitted, JobDriver::kStart);
  EXPECT_FALSE(status.verdict);
  EXPECT_FALSE(status.ended);
  ASSERT_EQ(status.tasks.size(), 3U);
  EXPECT_EQ(status.tasks[0].id, (TaskId{"ps", 0}));
  EXPECT_EQ(status.tasks[2].id, (TaskId{"worker", 1}));
}

TEST(JobTest, AJobOfAThousandTasksForms) {
  JobDriver driver(JobBuilder().Role("worker", 1000).Build());

  driver.Gathering().RegisterAll();

  EXPECT_EQ(driver.job().state(), JobState::kRunning);
}

}  // namespace
}  // namespace tony::am
