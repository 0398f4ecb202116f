#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/framework/task_command.h"

namespace tony {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class PlannedTaskTest : public testing::Test {
 protected:
  PlannedTaskTest() { spec_.roles = {{.name = "worker", .instances = 2, .command = "train | tee log"}}; }
  PlannedProcess Only(const PlannedNode& node) {
    const PlannedTask planned = PlanTask(spec_, {"worker", 1}, node, {});
    EXPECT_THAT(planned.processes, SizeIs(1));
    return planned.processes.front();
  }
  JobSpec spec_;
};

TEST_F(PlannedTaskTest, APlannedTaskShowsPlaceholdersForIdsAndFoldersThatAreKnownOnlyAtRunTime) {
  spec_.framework = FrameworkKind::kPytorch;
  const PlannedProcess process = Only({.host = "<host>"});
  EXPECT_THAT(process.argv, ElementsAre("/bin/bash", "-c", "train | tee log"));
  EXPECT_THAT(process.environment,
              IsSupersetOf({"JOB_ID=<job>", "CONTAINER_ID=<container>", "TONY_LOG_DIR=<folder>/logs/worker-1/1",
                            "RANK=1", "MASTER_ADDR=<host>", "MASTER_PORT=0"}));
}

TEST_F(PlannedTaskTest, APlannedTaskInheritsTheNodeEnvironmentAndShowsAGpuPlaceholder) {
  const PlannedNode node{.host = "h", .environment = {"HOME=/home/ann", "CUDA_VISIBLE_DEVICES=7"}};
  EXPECT_THAT(Only(node).environment, IsSupersetOf({"HOME=/home/ann", "CUDA_VISIBLE_DEVICES=7"}));
  spec_.roles[0].resources.gpus = 1;
  EXPECT_THAT(Only(node).environment, Contains("CUDA_VISIBLE_DEVICES=<gpus>"));
}

TEST_F(PlannedTaskTest, ATaskPlannedForThisMachineRunsASimpleCommandWithoutAShell) {
  spec_.roles[0].command = "sleep 1";
  const std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  EXPECT_THAT(Only({"h", environment, true}).argv, ElementsAre("sleep", "1"));
  EXPECT_THAT(Only({"h", environment, true}).environment, Contains(StartsWith("_=/")));
  EXPECT_THAT(Only({"h", environment, false}).argv, ElementsAre("/bin/bash", "-c", "sleep 1"));
}

TEST_F(PlannedTaskTest, ATaskInAContainerInheritsNothingOfTheNodeAndRunsByAShell) {
  spec_.roles[0].command = "sleep 1";
  spec_.roles[0].image = "train:1";
  const PlannedProcess process = Only({"h", {"PATH=/usr/bin:/bin", "HOME=/home/ann"}, true});
  EXPECT_THAT(process.argv, ElementsAre("/bin/bash", "-c", "sleep 1"));
  EXPECT_THAT(process.environment, Not(Contains(StartsWith("PATH="))));
  EXPECT_THAT(process.environment, Not(Contains(StartsWith("HOME="))));
}

TEST_F(PlannedTaskTest, TheSecondProcessOfATaskHasItsOwnLocalRankAndNoOutputFile) {
  spec_.framework = FrameworkKind::kPytorch;
  spec_.roles[0].processes = 2;
  const PlannedTask planned = PlanTask(spec_, {"worker", 0}, {.host = "h"}, {"TOKEN=x"});
  ASSERT_THAT(planned.processes, SizeIs(2));
  EXPECT_EQ(planned.directory, "<folder>/work/worker-0/1");
  EXPECT_THAT(planned.processes[1].environment, IsSupersetOf({"LOCAL_RANK=1", "TOKEN=x", "WORLD_SIZE=4"}));
  EXPECT_THAT(planned.processes[1].environment, Not(Contains(StartsWith("TONY_OUTPUT_FILE="))));
}

}  // namespace
}  // namespace tony
