// The log of ended jobs on a disk where each operation fails in turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/history/ended_log.h"
#include "tests/faults/faulty_disk.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

EndedJob Ended(const std::string& id, int64_t at) {
  EndedJob job;
  job.job = {id};
  job.ended = FromMillis(at);
  return job;
}

std::vector<std::string> JobsIn(const fs::path& folder) {
  const auto log = EndedLog(folder).Read();
  EXPECT_TRUE(log.ok()) << log.error().message;
  std::vector<std::string> jobs;
  if (log.ok()) {
    ForEachEnded(log->text(), [&](const EndedLine& line) {
      jobs.emplace_back(line.job);
      return true;
    });
  }
  return jobs;
}

void AppendFirst(const fs::path& folder) { ASSERT_TRUE(EndedLog(folder).Append(Ended("first", 1)).ok()); }

void ExpectFirstAndIfDoneSecond(const fs::path& folder, bool done) {
  const auto jobs = JobsIn(folder);
  EXPECT_THAT(jobs, testing::Contains("first"));
  if (done) {
    EXPECT_THAT(jobs, testing::ElementsAre("second", "first"));
  }
}

TEST(EndedLogFaultsTest, AFailedAppendKeepsTheEarlierLinesOfTheLogOfEndedJobs) {
  TryEveryFault({.prepare = AppendFirst,
                 .call = [](auto& folder) { return EndedLog(folder).Append(Ended("second", 2)); },
                 .look = ExpectFirstAndIfDoneSecond});
}

TEST(EndedLogFaultsTest, AFailedRewriteLeavesTheOldOrTheNewLogOfEndedJobs) {
  TryEveryFault({.prepare = AppendFirst,
                 .call = [](auto& folder) { return EndedLog(folder).Rewrite({Ended("second", 2)}, FromMillis(0)); },
                 .look = ExpectFirstAndIfDoneSecond});
}

// After a successful Sync(), gc removes the job's folder.
TEST(EndedLogFaultsTest, ASyncOfTheLogOfEndedJobsReportsEveryDiskFault) {
  TryEveryFault({.prepare = [](auto& folder) { AppendFirst(folder / "home"); },
                 .call = [](auto& folder) { return EndedLog(folder / "home").Sync(); },
                 .tells_every_fault = true});
}

TEST(EndedLogFaultsTest, TheLogOfEndedJobsIsReadWholeOrTheReadFails) {
  TryEveryFault({.prepare = AppendFirst, .call = [](auto& folder) -> Status {
                   const auto log = EndedLog(folder).Read();
                   if (!log.ok()) return log.error();
                   EXPECT_NE(log->text().find("first"), std::string_view::npos);
                   return Ok();
                 }});
}

}  // namespace
}  // namespace tony
