// The keeper (supervisor of one job on one machine) on a disk with power cuts, when no application master can lead the
// job.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/keeper/run_keeper.h"
#include "runtime/records/local_job_store.h"
#include "tests/power/recorded_disk.h"
#include "tests/support/temp_folder.h"

namespace tony::keeper {
namespace {

namespace fs = std::filesystem;

TEST(KeeperPowerCutTest, AVerdictWrittenByTheKeeperIsSafeOnDiskWhenTheKeeperExits) {
  const TempFolder jobs, elsewhere;
  NewJob job;
  RoleSpec worker;
  worker.name = "worker";
  worker.command = "true";
  job.spec.roles = {worker};
  job.environment = {"PATH=/usr/bin:/bin", "TONY_LEDGER=" + elsewhere.path().string()};
  std::ofstream(elsewhere.path() / "machine.json") << R"({"memory_mb": 100000, "gpus": []})";
  const std::string am = elsewhere.path() / "tony-am";
  std::ofstream(am) << "#!/bin/sh\necho 'now tony-am[7] error: journal: damaged at byte 12' >&2\nexit 65\n";
  fs::permissions(am, fs::perms::owner_all);
  const auto folder = LocalJobStore(jobs.path()).Create(job, RealClock().Now());
  ASSERT_TRUE(folder.ok()) << folder.error().message;

  RecordedDisk disk(folder->place());
  AmOptions options;
  options.program = am;
  ASSERT_TRUE(RunKeeper(folder->place(), options).ok());
  disk.Promise("left");
  int looks = 0;
  disk.ForEachCut([&](const PowerCut& cut) {
    if (cut.promised.empty()) return;
    const auto status = LocalJobRecords(cut.left).ReadStatus();
    ASSERT_TRUE(status.ok() && *status && (*status)->verdict) << cut.point;
    EXPECT_EQ((*status)->verdict->message, "journal: damaged at byte 12") << cut.point;
    ++looks;
  });
  EXPECT_GT(looks, 0);
}

}  // namespace
}  // namespace tony::keeper
