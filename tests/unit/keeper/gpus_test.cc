#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/keeper/containers.h"

namespace tony::keeper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(GpusTest, TheLowestFreeOnesArePicked) {
  EXPECT_EQ(PickGpus({3, 1, 0, 2}, {}, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(PickGpus({0, 1, 2, 3}, {0, 2}, 2), (std::vector<int>{1, 3}));
  EXPECT_EQ(PickGpus({4, 7}, {9}, 0), std::vector<int>());
}

TEST(GpusTest, TooFewAreNone) {
  EXPECT_EQ(PickGpus({0, 1}, {1}, 2), std::nullopt);
  EXPECT_EQ(PickGpus({}, {}, 1), std::nullopt);
}

TEST(GpusTest, ProcessesSeeTheirOwnByTheNumbersOfTheBus) {
  EXPECT_THAT(GpuEnvironment({1, 3}, true),
              ElementsAre("CUDA_VISIBLE_DEVICES=1,3", "NVIDIA_VISIBLE_DEVICES=1,3", "CUDA_DEVICE_ORDER=PCI_BUS_ID"));
}

TEST(GpusTest, WhoGotNoneSeesNoneWhereThereAreSome) {
  EXPECT_THAT(GpuEnvironment({}, true), ElementsAre("CUDA_VISIBLE_DEVICES="));
  EXPECT_THAT(GpuEnvironment({}, false), IsEmpty());
}

}  // namespace
}  // namespace tony::keeper
