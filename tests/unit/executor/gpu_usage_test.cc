#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "executor/usage_watch.h"
#include "runtime/base/event_loop.h"
#include "tests/support/places.h"
#include "tests/support/run_until.h"

namespace tony::executor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(VisibleGpusTest, GpusInCudaVisibleDevicesAreListedByNumberOrName) {
  EXPECT_THAT(VisibleGpus("0"), ElementsAre("0"));
  EXPECT_THAT(VisibleGpus("3,1"), ElementsAre("3", "1"));
  EXPECT_THAT(VisibleGpus("GPU-8932f937, MIG-4b2f"), ElementsAre("GPU-8932f937", "MIG-4b2f"));
}

TEST(VisibleGpusTest, GpusAfterAnInvalidEntryOfCudaVisibleDevicesAreIgnored) {
  EXPECT_THAT(VisibleGpus(""), IsEmpty());
  EXPECT_THAT(VisibleGpus("-1"), IsEmpty());
  EXPECT_THAT(VisibleGpus("NoDevFiles"), IsEmpty());
  EXPECT_THAT(VisibleGpus("0,-1,1"), ElementsAre("0"));
  EXPECT_THAT(VisibleGpus("0,,1"), ElementsAre("0"));
  EXPECT_THAT(VisibleGpus("99999999999999999999"), IsEmpty());
}

// Returns the usage of `devices` as measured with the fake library, which is in the folder of this program.
std::optional<GpuUsage> Measured(const std::vector<std::string>& devices) {
  EventLoop loop;
  const GpuWatch watch(devices, TestProgram("libfake_nvml.so"));
  RunUntil(loop, [&] { return watch.Newest().has_value(); });
  return watch.Newest();
}

TEST(GpuWatchTest, MemoryIsSummedAndLoadIsAveragedOverTheGpusOfAnAttempt) {
  const auto both = Measured({"0", "1"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->memory_bytes, 31'000'000'000);
  EXPECT_EQ(both->most_memory_bytes, 31'000'000'000);
  EXPECT_EQ(both->percent, 45);
  EXPECT_EQ(both->mean_percent, 45);
  EXPECT_EQ(both->most_percent, 45);
  EXPECT_EQ(Measured({"1"})->percent, 90);
}

TEST(GpuWatchTest, ALostGpuDoesNotPreventTheMeasurementOfTheOtherGpus) {
  EXPECT_EQ(Measured({"GPU-lost", "7", "GPU-none", "1"})->percent, 90);
}

TEST(GpuWatchTest, GpuUsageIsNotMeasuredWithoutTheNvmlLibrary) {
  for (const char* library : {"libno-such-nvml.so.1", "libc.so.6", "/etc/passwd", ""}) {
    GpuWatch watch({"0"}, library);
    watch.Stop();
    EXPECT_EQ(watch.Newest(), std::nullopt) << library;
  }
}

TEST(GpuWatchTest, AHangingDriverDoesNotDelayTheEndOfTheWatch) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const GpuWatch watch({"GPU-hang"}, TestProgram("libfake_nvml.so"));
    EXPECT_EQ(watch.Newest(), std::nullopt);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace tony::executor
