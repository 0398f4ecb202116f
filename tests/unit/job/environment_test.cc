#include "runtime/job/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony {
namespace {

using ::testing::ElementsAre;

TEST(EnvironmentTest, VariablesOfTheSecondEnvironmentOverrideTheFirst) {
  EXPECT_THAT(MergeEnvironments({"A=1", "B=2", "AB=3"}, {"B=x=y", "C=4"}), ElementsAre("A=1", "B=x=y", "AB=3", "C=4"));
}

TEST(EnvironmentTest, ADuplicateVariableNameKeepsOnlyTheLastValue) {
  EXPECT_THAT(MergeEnvironments({"A=1", "A=2"}, {"B=1", "B=2"}), ElementsAre("A=2", "B=2"));
}

TEST(EnvironmentTest, VariablesThatIdentifyAnEnclosingTonyJobAreRemoved) {
  EXPECT_THAT(WithoutMarks({"A=1", "TONY_JOB_ID=outer", "TONY_CONTAINER=outer/1-1", "TONY_AM=outer", "TONY_JOB_IDS=x"}),
              ElementsAre("A=1", "TONY_JOB_IDS=x"));
}

TEST(EnvironmentTest, AContainerMarkConsistsOfTheJobIdAndTheContainerId) {
  EXPECT_EQ(ContainerMark({"local-1"}, {"2-3"}), "local-1/2-3");
}

}  // namespace
}  // namespace tony
