// The straight way of a job, from acceptance until all of it runs.
#include "tests/unit/am/job_script.h"

namespace tony::am {
namespace {

constexpr char kPsAndTwoWorkers[] = "worker*2 ps*1:untracked";

const TestRow kStraight[] = {
    {"TheFirstMasterAcceptsTheJobAndAsksForEveryTask",
     {{"start",
       "job_accepted epoch_began containers_requested; orders request ps:0#1 worker:0#1 worker:1#1; state ALLOCATING; "
       "worker:1 state active; worker:1 is requested"}}},
    {"AGrantIsLaunchedAtOnce",
     {{"start, grant worker:1",
       "container_assigned; orders launch worker:1#1 in c-worker-1; worker:1 host node-worker-1; in c-worker-1 "
       "worker:1#1"}}},
    {"GrantsMayComeInAnyOrder",
     {{"start, grant worker:1 ps:0 worker:0", "container_assigned gang_allocated; state GATHERING"}}},
    {"AGrantToldTwiceChangesNothing", {{"start, grant worker:0 worker:0", "nothing; no orders"}}},
    {"ASecondContainerForTheSameTaskGoesBack",
     {{"start, grant worker:0, surplus worker:0", "nothing; orders kill surplus; in surplus nobody"}}},
    {"AContainerForATaskThatIsNotOursGoesBack", {{"start, grant evaluator:0", "nothing; orders kill c-evaluator-0"}}},
    {"ALaunchIsConfirmedOnce",
     {{"gathering, launched worker:0", "attempt_launched"},
      {"launched worker:0", "nothing"},
      {"launched evaluator:0", "nothing"}}},
    {"AnExecutorMayRegisterBeforeItsLaunchIsConfirmed",
     {{"gathering, register worker:0", "attempt_registered"},
      {"launched worker:0", "nothing; worker:0 is registered"}}},
    {"AnExecutorMayRegisterBeforeOthersHaveAContainer",
     {{"start, grant worker:0, register worker:0, grant worker:1, register worker:1, grant ps:0, register ps:0",
       "attempt_registered generation_formed"}}},
    {"UntilTheLastHasRegisteredThereIsNoCommand",
     {{"gathering, register worker:0 worker:1", "worker:0 told none; worker:0 numbered 0; state GATHERING"}}},
    {"TheBarrierOpensInTheTurnThatRegistersTheLastTask",
     {{"gathering, register worker:0 worker:1 ps:0",
       "attempt_registered generation_formed; orders tell ps:0#1, tell worker:0#1, tell worker:1#1; state RUNNING; "
       "generation 1"}}},
    {"IndexesAreInOrderOfNumberNotOfText",
     {{"job worker*12: gathering, all-registered", "worker:0 reads ~\"node-worker-9:4009\",\"node-worker-10:4010\""}}},
    {"AHeartbeatSaysThatTheTaskRuns",
     {{"gathering, all-registered, wait 700ms, heartbeat worker:0 running 4711",
       "attempt_ran; worker:0 is running; worker:0 pid 4711; worker:0 started"}}},
    {"FurtherHeartbeatsDecideNothing",
     {{"running, heartbeat worker:0", "nothing"}, {"heartbeat worker:0 stopping", "nothing"}}},
    {"AHeartbeatBeforeTheStartDecidesNothing",
     {{"gathering, register worker:0, heartbeat worker:0 waiting 0", "nothing"}}},
    {"AJobOfAThousandTasksForms", {{"job worker*1000: gathering, all-registered", "state RUNNING"}}},
};
TABLE_TEST(JobTest, kStraight, Script(kPsAndTwoWorkers));

TEST(JobTest, AsksNameTheResourcesOfTheRole) {
  JobSpec spec = JobOf(kPsAndTwoWorkers);
  spec.roles[1].resources = {.memory_mb = 8192, .vcores = 4, .gpus = 2};
  const TurnResult turn = JobDriver(spec).Start();
  ASSERT_EQ(turn.actions.size(), 1U);
  const auto& asks = std::get<RequestContainers>(turn.actions[0]).asks;
  ASSERT_EQ(asks.size(), 3U);
  EXPECT_EQ(asks[0].resources, Resources{});
  EXPECT_EQ(asks[1].resources, spec.roles[1].resources);
}

TEST(JobTest, TheStartCommandHoldsEveryEndpointByRoleAndIndex) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
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

TEST(JobTest, TheSequenceNumberGrowsByTheDecisions) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
  driver.Running();
  EXPECT_EQ(driver.job().seq(), static_cast<int64_t>(driver.journal().size()));
  EXPECT_EQ(driver.Status().seq, driver.job().seq());
}

TEST(JobTest, TheStatusOfARunningJobHasAllThatIsKnownAndNoVerdict) {
  JobDriver driver(JobOf(kPsAndTwoWorkers));
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

}  // namespace
}  // namespace tony::am
