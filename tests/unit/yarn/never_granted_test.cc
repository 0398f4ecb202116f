#include <gtest/gtest.h>

#include "runtime/yarn/yarn_asks.h"

namespace tony {
namespace {

const ContainerLimits kLimits{.maximum = {8192, 4, {}}};

TEST(NeverGrantedTest, WhatFitsMayBeGranted) {
  EXPECT_FALSE(WhyNeverGranted(Resources{.memory_mb = 8192, .vcores = 4}, kLimits));
}

TEST(NeverGrantedTest, WhatIsAboveTheMaximumIsRefusedWithBothNumbers) {
  EXPECT_EQ(WhyNeverGranted(Resources{.memory_mb = 65536}, kLimits),
            "65536 MB of memory is above 8192 MB, the most that this cluster gives a container");
  EXPECT_EQ(WhyNeverGranted(Resources{.vcores = 5}, kLimits),
            "5 vcores is above 4, the most that this cluster gives a container");
}

TEST(NeverGrantedTest, GpusNeedTheirTypeAndNoMoreThanTheMostOfIt) {
  EXPECT_EQ(WhyNeverGranted(Resources{.gpus = 1}, kLimits), "this cluster has no resource of the type yarn.io/gpu");
  ContainerLimits limits = kLimits;
  limits.types = {"yarn.io/gpu"};
  EXPECT_FALSE(WhyNeverGranted(Resources{.gpus = 9}, limits)) << "how many is not known";
  limits.types = {};
  limits.maximum.others = {{"yarn.io/gpu", 2}};
  EXPECT_FALSE(WhyNeverGranted(Resources{.gpus = 2}, limits));
  EXPECT_EQ(WhyNeverGranted(Resources{.gpus = 3}, limits),
            "3 GPUs is above 2, the most that this cluster gives a container");
}

TEST(NeverGrantedTest, OfAJobTheKeyIsNamed) {
  JobSpec spec;
  spec.roles = {{.name = "ps"}, {.name = "worker", .resources = {.memory_mb = 65536}}};
  EXPECT_EQ(WhyNeverGranted(spec, kLimits),
            "tony.worker.memory: 65536 MB of memory is above 8192 MB, the most that this cluster gives a container");
  spec.roles.pop_back();
  EXPECT_FALSE(WhyNeverGranted(spec, kLimits));
}

TEST(NeverGrantedTest, AGangThatAsksForMoreGpusThanAllNodesHaveIsToldSo) {
  JobSpec spec;
  spec.roles = {{.name = "ps"}, {.name = "worker", .instances = 3, .resources = {.gpus = 2}}};
  std::vector<hadoop::NodeReport> nodes(2);
  nodes[0].capability.others = {{"yarn.io/gpu", 5}};
  EXPECT_TRUE(spec.AsksForGpus());
  EXPECT_EQ(
      WhyTooManyGpus(spec, nodes),
      "the tasks start together and ask for 6 GPUs; the nodes that run have 5: the job waits until there are more");
  nodes[1].capability.others = {{"yarn.io/gpu", 1}};
  EXPECT_FALSE(WhyTooManyGpus(spec, nodes));
  nodes.clear();
  spec.mode = DistributedMode::kFcfs;
  EXPECT_FALSE(WhyTooManyGpus(spec, nodes)) << "one after the other may have them";
}

}  // namespace
}  // namespace tony
