#include <gtest/gtest.h>

#include "runtime/job/job_status.h"

namespace tony {
namespace {

TaskStatus Using(const Usage& usage) {
  TaskStatus task;
  task.usage = usage;
  return task;
}

constexpr int64_t kMega = 1 << 20, kGiga = 1 << 30;

TEST(TaskTextTest, CurrentMemoryIsShownInTheUnitOfThePeakMemory) {
  EXPECT_EQ(MemoryText({}), "-");
  EXPECT_EQ(MemoryText(Using({.samples = 1, .memory_bytes = 312 * kMega, .most_memory_bytes = 340 * kMega})),
            "312/340 MB");
  EXPECT_EQ(MemoryText(Using({.samples = 1, .memory_bytes = 512 * kMega, .most_memory_bytes = 12 * kGiga})),
            "0.5/12.0 GB");
  EXPECT_EQ(MemoryText(Using({.samples = 1, .memory_bytes = 130 * kGiga, .most_memory_bytes = 130 * kGiga})),
            "130/130 GB");
}

TEST(TaskTextTest, AnEndedTaskShowsItsPeakMemoryAndAverageCpu) {
  EXPECT_EQ(MemoryText(Using({.most_memory_bytes = 5 * kMega})), "5 MB");
  TaskStatus ended = Using({.samples = 9,
                            .memory_bytes = kMega,
                            .most_memory_bytes = 8 * kMega,
                            .cpu = Duration(3000),
                            .millicores = 10,
                            .elapsed = Duration(2000)});
  EXPECT_EQ(CpuText(ended), "1%");
  ended.ended = FromMillis(1);
  EXPECT_EQ(MemoryText(ended), "8 MB");
  EXPECT_EQ(CpuText(ended), "150%") << "on average";
  EXPECT_EQ(CpuText(Using({})), "-");
}

TEST(TaskTextTest, MemoryUsageIsShownWithTheMemoryLimit) {
  EXPECT_EQ(MemoryOfLimit({}, kGiga), "-");
  const TaskStatus running = Using({.samples = 1, .memory_bytes = 312 * kMega, .most_memory_bytes = 340 * kMega});
  EXPECT_EQ(MemoryOfLimit(running, 512 * kMega), "312/512 MB");
  EXPECT_EQ(MemoryOfLimit(running, 2 * kGiga), "0.3/2.0 GB");
  EXPECT_EQ(MemoryOfLimit(running, 0), "312 MB");
  EXPECT_EQ(PeakMemoryText(running), "340 MB");
  TaskStatus over = running;
  over.ended = FromMillis(1);
  EXPECT_EQ(MemoryOfLimit(over, 512 * kMega), "340/512 MB") << "the most, of one that has ended";
  EXPECT_EQ(MemoryOfLimit(Using({}), kGiga), "-");
}

TEST(TaskTextTest, TheUsageOfAJobIsTheSumOfItsRunningTasks) {
  JobStatus job;
  EXPECT_EQ(MemoryText(TotalUsage(job)), "-");
  const Usage usage = {.samples = 2, .memory_bytes = 5 * kMega, .most_memory_bytes = 9 * kMega, .millicores = 750};
  job.tasks = {Using(usage), Using(usage), Using(usage), {}};
  job.tasks[2].ended = FromMillis(1);
  EXPECT_EQ(MemoryText(TotalUsage(job)), "10/18 MB");
  EXPECT_EQ(CpuText(TotalUsage(job)), "150%");
}

TEST(TaskTextTest, DurationsAreShownAsMinutesAndSecondsOrDaysAndHours) {
  EXPECT_EQ(ClockText(Duration(7'900)), "0:07");
  EXPECT_EQ(ClockText(Duration(750'000)), "12:30");
  EXPECT_EQ(ClockText(Duration(7'500'000)), "2:05:00");
  EXPECT_EQ(ClockText(Duration(273'600'000)), "3d 04h");
  EXPECT_EQ(ClockText(Duration(-1)), "0:00");
}

}  // namespace
}  // namespace tony
