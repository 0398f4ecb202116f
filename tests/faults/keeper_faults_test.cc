// Records that a keeper (supervisor of one job on one machine) writes for its successor, on a disk where each operation
// fails in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/keeper/am_supervision.h"
#include "runtime/keeper/containers.h"
#include "tests/faults/faulty_disk.h"

namespace tony::keeper {
namespace {

namespace fs = std::filesystem;

const ContainerId kContainer{"1-1"};

JobRecords JobIn(const fs::path& folder) { return LocalJobRecords(folder / "job-1"); }

void Launch(const fs::path& folder) {
  fs::create_directories(folder / "job-1/containers");
  ASSERT_TRUE(ContainerRecords(JobIn(folder)).Launching(kContainer, {0, 1}, "/cgroup").ok());
}

ContainerRecord RecordIn(const fs::path& folder) {
  const auto records = ContainerRecords(JobIn(folder)).ReadAll();
  EXPECT_TRUE(records.ok() && records->size() == 1);
  return records.ok() && !records->empty() ? records->front() : ContainerRecord();
}

TEST(ContainerRecordFaultsTest, AnExecutorIsRecordedWithPidAndStartTimeOrNotAtAll) {
  TryEveryFault(
      {.prepare = Launch,
       .call = [](auto& folder) { return ContainerRecords(JobIn(folder)).Started(kContainer, 4'000'010, "123456789"); },
       .look =
           [](auto& folder, bool done) {
             const ContainerRecord record = RecordIn(folder);
             EXPECT_THAT(record.gpus, testing::ElementsAre(0, 1));
             EXPECT_EQ(record.cgroup, "/cgroup");
             EXPECT_FALSE(record.exited);
             EXPECT_TRUE(record.pid == 4'000'010 || (!done && record.pid == 0)) << record.pid;
             if (record.pid != 0) {
               EXPECT_EQ(record.start_time, "123456789");
             }
           }});
}

TEST(ContainerRecordFaultsTest, TheExitOfAContainerIsReadEvenIfAnEarlierLineOfItsRecordIsTruncated) {
  const ContainerExited exited = {kContainer, ExitStatus{ExitStatus::Kind::kExited, 3}, ""};
  TryEveryFault({.prepare = Launch,
                 .call = [&](auto& folder) -> Status {
                   const ContainerRecords records(JobIn(folder));
                   (void)records.Started(kContainer, 4'000'010, "123456789");  // the disk may take half
                   return records.Exited(exited);
                 },
                 .look =
                     [&](auto& folder, bool done) {
                       const auto read = RecordIn(folder).exited;
                       ASSERT_TRUE(read || !done);
                       if (read) {
                         EXPECT_EQ(read->status, exited.status);
                       }
                     }});
}

TEST(AmDeathFaultsTest, RecordingAnAmDeathKeepsTheRecordsOfEarlierDeaths) {
  const AmDeath first = {FromMillis(1'700'000'000'000), AmDeath::Kind::kCrashed};
  const AmDeath second = {FromMillis(1'700'000'001'000), AmDeath::Kind::kKilled};
  TryEveryFault({.prepare =
                     [&](auto& folder) {
                       fs::create_directories(folder / "job-1");
                       ASSERT_TRUE(RecordDeath(JobIn(folder), first).ok());
                     },
                 .call = [&](auto& folder) { return RecordDeath(JobIn(folder), second); },
                 .look =
                     [&](auto& folder, bool done) {
                       std::vector<Instant> times;
                       for (const AmDeath& death : ReadDeaths(JobIn(folder))) times.push_back(death.time);
                       ASSERT_FALSE(times.empty());
                       EXPECT_EQ(times.front(), first.time);
                       for (size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i], second.time);
                       if (done) {
                         EXPECT_GT(times.size(), 1u);
                       }
                     }});
}

}  // namespace
}  // namespace tony::keeper
