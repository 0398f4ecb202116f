#include "runtime/records/checkpoint_holder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/records/local_job_store.h"
#include "tests/support/temp_folder.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

class CheckpointHolderTest : public testing::Test {
 protected:
  JobId Make() {
    JobSpec spec;
    spec.roles.push_back({.name = "worker", .command = "true"});
    const auto made = LocalJobStore(home_.path()).Create({.spec = spec}, Instant(Duration(++time_)));
    EXPECT_TRUE(made.ok());
    return made->job();
  }
  void End(const JobId& job) {
    JobStatus status{.job = job, .state = "FAILED", .verdict = Verdict{.state = FinalState::kFailed}};
    ASSERT_TRUE(
        LocalJobRecords(home_.path() / "jobs" / job.value).WriteStatus(status, Durability::kLostWithPower).ok());
  }
  CheckpointHolder Take(const JobId& job, const fs::path& folder = "/ckpt") {
    const auto holder = TakeCheckpointFolder(home_.path(), folder, job);
    EXPECT_TRUE(holder.ok()) << holder.error().message;
    return holder.ok() ? *holder : CheckpointHolder();
  }
  TempFolder home_;
  int64_t time_ = 0;
};

TEST_F(CheckpointHolderTest, OneJobAtATimeHasAFolder) {
  const JobId first = Make(), second = Make();
  EXPECT_EQ(Take(first), (CheckpointHolder{first, std::nullopt}));
  EXPECT_EQ(Take(second), (CheckpointHolder{first, std::nullopt}));
  EXPECT_EQ(Take(second, "/other"), (CheckpointHolder{second, std::nullopt}));
  EXPECT_EQ(Take(first), (CheckpointHolder{first, std::nullopt})) << "its next master asks again";

  End(first);

  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
  EXPECT_EQ(*HolderOf(home_.path(), "/ckpt"), (CheckpointHolder{second, first}));
}

TEST_F(CheckpointHolderTest, AJobThatIsGoneHasNoFolder) {
  const JobId first = Make(), second = Make();
  Take(first);
  fs::remove_all(home_.path() / "jobs" / first.value);

  EXPECT_EQ(Take(second), (CheckpointHolder{second, first}));
}

TEST_F(CheckpointHolderTest, ADamagedRecordGivesTheFolderToNobody) {
  const JobId job = Make();
  Take(job);
  for (const auto& entry : fs::directory_iterator(home_.path() / "checkpoint-folders")) {
    if (entry.path().filename() != ".lock") std::ofstream(entry.path()) << "{}";
  }
  EXPECT_FALSE(TakeCheckpointFolder(home_.path(), "/ckpt", job).ok());
}

TEST_F(CheckpointHolderTest, WhatNoJobRefersToIsForgotten) {
  ASSERT_TRUE(SweepCheckpointHolders(home_.path()).ok());
  const JobId gone = Make(), kept = Make();
  Take(gone, "/gone");
  Take(kept, "/kept");
  fs::remove_all(home_.path() / "jobs" / gone.value);

  ASSERT_TRUE(SweepCheckpointHolders(home_.path()).ok());

  EXPECT_FALSE(*HolderOf(home_.path(), "/gone"));
  EXPECT_TRUE(*HolderOf(home_.path(), "/kept"));
}

}  // namespace
}  // namespace tony
