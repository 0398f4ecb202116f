// Tests a job whose checkpoint folder another job of the same home still uses.
#include <algorithm>
#include <limits>

#include "runtime/records/checkpoint_holder.h"
#include "runtime/records/local_job_store.h"
#include "tests/support/run_until.h"
#include "tests/unit/am/master_test.h"

namespace tony::am {
namespace {

struct CheckpointHome {
  TempFolder checkpoints;
};

class MasterCheckpointTest : private CheckpointHome, public ApplicationMasterTest {
 protected:
  MasterCheckpointTest()
      : ApplicationMasterTest(JobBuilder().Role("worker", 1).Checkpoints(checkpoints.path().string()).Build()) {
    const auto other = LocalJobStore(temp_.path()).Create({}, loop_.Now());
    EXPECT_TRUE(other.ok()) << other.error().message;
    other_ = *other;
    const auto taken = TakeCheckpointFolder(temp_.path(), std::filesystem::canonical(checkpoints.path()), other_.job());
    EXPECT_TRUE(taken.ok() && taken->job == other_.job());
  }
  void FormGang() {
    Grant("worker:0");
    Register("worker:0");
    journal_.WriteAll();
  }
  // Returns whether a watching client eventually receives this delay; "" means no delay.
  bool IsTold(const std::string& delay) {
    for (int watches = 0; watches < 20; ++watches) {
      const auto answer = Watch(std::numeric_limits<int64_t>::max());
      if (!RunUntil(loop_, [&] { return !answer->open(); })) return false;
      const auto status = JobStatusFromJson(answer->value->status_json);
      if (status.ok() && status->delay == delay) return true;
    }
    return false;
  }
  bool Appended(const std::string& decision) const {
    return std::ranges::find(journal_.appended, decision) != journal_.appended.end();
  }

  JobRecords other_ = LocalJobRecords("");
};

TEST_F(MasterCheckpointTest, AJobWaitsForAKilledJobToFreeTheCheckpointFolder) {
  ASSERT_TRUE(other_.WriteKill({.reason = "enough"}).ok());
  FormGang();
  EXPECT_TRUE(IsTold("waits until job " + other_.job().value + ", which uses the checkpoint folder, has ended"));

  std::filesystem::remove_all(other_.place());

  EXPECT_TRUE(IsTold(""));
  EXPECT_TRUE(RunUntil(loop_, [this] { return Appended("checkpoints_listed"); }));
  EXPECT_FALSE(Appended("job_stopping"));
}

TEST_F(MasterCheckpointTest, AJobStopsAtOnceIfAnotherRunningJobUsesTheCheckpointFolder) {
  FormGang();
  EXPECT_TRUE(RunUntil(loop_, [this] { return Appended("job_stopping"); }));
  EXPECT_FALSE(Appended("checkpoints_listed"));
}

// In FCFS mode a job lists its checkpoints as soon as its first task has registered, while other tasks may wait for
// containers.
class FcfsMasterCheckpointTest : private CheckpointHome, public ApplicationMasterTest {
 protected:
  FcfsMasterCheckpointTest()
      : ApplicationMasterTest(JobBuilder().Role("worker", 2).Fcfs().Checkpoints(checkpoints.path().string()).Build()) {}
};

TEST_F(FcfsMasterCheckpointTest, TheStatusStillShowsWhyContainersArePendingAfterTheCheckpointListing) {
  master_.OnScheduler(ContainersPending{"waits for 8192 MB of memory"});
  Grant("worker:0");
  Register("worker:0");
  journal_.WriteAll();
  ASSERT_TRUE(
      RunUntil(loop_, [this] { return std::ranges::count(journal_.appended, std::string("checkpoints_listed")) > 0; }));
  const auto answer = Watch(std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(RunUntil(loop_, [&] { return !answer->open(); }));
  EXPECT_EQ(JobStatusFromJson(answer->value->status_json)->delay, "waits for 8192 MB of memory");
}

}  // namespace
}  // namespace tony::am
