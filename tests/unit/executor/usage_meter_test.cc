#include "executor/usage_meter.h"

#include <gtest/gtest.h>

namespace tony::executor {
namespace {

using std::chrono::seconds;

constexpr int64_t kMb = 1 << 20;

TreeSample Sample(int64_t memory_mb, int cpu_ms) {
  return {.processes = 1, .memory_bytes = memory_mb * kMb, .cpu = Duration(cpu_ms)};
}

class UsageMeterTest : public testing::Test {
 protected:
  void Add(int at_ms, int64_t memory_mb, int cpu_ms) { meter_.Add(Sample(memory_mb, cpu_ms), At(at_ms)); }
  Instant At(int ms) const { return start_ + Duration(ms); }
  const Usage& usage() const { return meter_.usage(); }

  const Instant start_ = FromMillis(1'000'000);
  UsageMeter meter_{start_};
};

TEST_F(UsageMeterTest, UsageContainsTheNewestAndTheHighestMemorySample) {
  Add(1000, 300, 100);
  Add(2000, 200, 400);
  EXPECT_EQ(usage().samples, 2);
  EXPECT_EQ(usage().memory_bytes, 200 * kMb);
  EXPECT_EQ(usage().most_memory_bytes, 300 * kMb);
  EXPECT_EQ(usage().cpu, Duration(400));
  EXPECT_EQ(usage().elapsed, Duration(2000));
}

TEST_F(UsageMeterTest, TheMeanMemoryUsageIsWeightedByTheTimeBetweenSamples) {
  Add(1000, 100, 0);
  Add(4000, 500, 0);
  EXPECT_EQ(usage().mean_memory_bytes, 400 * kMb);
}

TEST_F(UsageMeterTest, CpuCoresInUseAreMeasuredSinceThePreviousSample) {
  Add(1000, 1, 2000);
  EXPECT_EQ(usage().millicores, 2000);
  Add(2000, 1, 2500);
  EXPECT_EQ(usage().millicores, 500);
  EXPECT_EQ(usage().most_millicores, 2000);
}

TEST_F(UsageMeterTest, TwoSamplesAtTheSameTimeDoNotDivideByZero) {
  Add(0, 10, 50);
  Add(0, 20, 90);
  EXPECT_EQ(usage().cpu, Duration(90));
  EXPECT_EQ(usage().memory_bytes, 20 * kMb);
  EXPECT_EQ(usage().mean_memory_bytes, 0);
  EXPECT_EQ(usage().most_millicores, 0);
  EXPECT_TRUE(meter_.series().points().empty());
}

TEST_F(UsageMeterTest, ASingleCpuClockTickWithin1MillisecondDoesNotRaiseThePeakCpuUsage) {
  Add(1000, 1, 10);
  Add(1001, 1, 20);
  EXPECT_EQ(usage().most_millicores, 10);
}

TEST_F(UsageMeterTest, TheTotalCpuTimeDoesNotDecreaseWhenProcessesVanish) {
  Add(1000, 1, 900);
  Add(2000, 1, 100);
  EXPECT_EQ(usage().cpu, Duration(900));
  EXPECT_EQ(usage().millicores, 0);
}

TEST_F(UsageMeterTest, TheElapsedTimeOfAnAttemptDoesNotDecreaseWhenTheClockGoesBack) {
  Add(2000, 1, 100);
  Add(1000, 1, 200);
  EXPECT_EQ(usage().elapsed, Duration(2000));
  Add(3000, 1, 300);
  EXPECT_EQ(usage().elapsed, Duration(3000));
}

TEST_F(UsageMeterTest, TheFinalUsageOfAnAttemptIncludesCpuTimeAndPeakMemoryOfEndedProcesses) {
  Add(1000, 100, 500);
  const TreeSample rest{.cpu = Duration(1500), .peak_ended_bytes = 700 * kMb};
  const Usage all = meter_.Ended(rest, At(3000)).usage();
  EXPECT_EQ(all.samples, 1);
  EXPECT_EQ(all.most_memory_bytes, 700 * kMb);
  EXPECT_EQ(all.mean_memory_bytes, 100 * kMb);
  EXPECT_EQ(all.cpu, Duration(1500));
  EXPECT_EQ(all.elapsed, Duration(3000));
  EXPECT_EQ(usage().elapsed, Duration(1000)) << "it may be asked again";
}

TEST_F(UsageMeterTest, CpuTimeAndPeakMemoryAreMeasuredEvenIfAnAttemptEndsBeforeItsFirstSample) {
  const TreeSample rest{.cpu = Duration(60), .peak_ended_bytes = 9 * kMb};
  const Usage all = meter_.Ended(rest, At(120)).usage();
  EXPECT_EQ(all.samples, 0);
  EXPECT_EQ(all.memory_bytes, 0);
  EXPECT_EQ(all.most_memory_bytes, 9 * kMb);
  EXPECT_EQ(all.most_millicores, 500);
}

TEST_F(UsageMeterTest, ExtremeMemoryAndCpuValuesDoNotOverflow) {
  const int64_t year = int64_t{365} * 24 * 3600 * 1000;
  const int64_t most = int64_t{1} << 60;
  for (int i = 1; i <= 10; ++i)
    meter_.Add({.memory_bytes = most, .cpu = Duration(year * 1000 * i)}, start_ + Duration(year * i));
  EXPECT_NEAR(static_cast<double>(usage().mean_memory_bytes), static_cast<double>(most), 1e12);
  EXPECT_EQ(usage().most_millicores, 1'000'000);
}

class UsageSeriesTest : public UsageMeterTest {};

TEST_F(UsageSeriesTest, EachSecondOfUsageIsRecordedAsOnePoint) {
  for (int i = 1; i <= 10; ++i) Add(i * 1000, i, 0);
  const auto& points = meter_.series().points();
  ASSERT_EQ(points.size(), 10u);
  EXPECT_EQ(points[3].at, Duration(4000));
  EXPECT_EQ(points[3].mean_memory_bytes, 4 * kMb);
}

TEST_F(UsageSeriesTest, SamplesWithinOneSecondAreMergedIntoOnePoint) {
  Add(200, 100, 200);
  Add(1000, 600, 200);
  const auto& points = meter_.series().points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].mean_memory_bytes, 500 * kMb);
  EXPECT_EQ(points[0].most_memory_bytes, 600 * kMb);
  EXPECT_EQ(points[0].mean_millicores, 200);
}

TEST_F(UsageSeriesTest, TheUsageOfALongAttemptIsCoveredWithoutGapsByAtMost60Points) {
  for (int i = 1; i <= 10'000; ++i) {
    Add(i * 5000, i == 4321 ? 9000 : 100, i * 2500);
    ASSERT_LE(meter_.series().points().size(), 60u);
  }
  Duration covered{0};
  int64_t most = 0;
  for (const UsagePoint& point : meter_.series().points()) {
    covered += point.length;
    most = std::max(most, point.most_memory_bytes);
    EXPECT_EQ(point.at, covered) << "no gap";
    EXPECT_NEAR(static_cast<double>(point.mean_millicores), 500, 1);
  }
  EXPECT_EQ(covered, Duration(50'000'000));
  EXPECT_EQ(most, 9000 * kMb);
  EXPECT_GE(meter_.series().points().size(), 30u);
}

}  // namespace
}  // namespace tony::executor
