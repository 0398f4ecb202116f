// The file system of $TONY_HOME fails or becomes read-only while a job runs. The ledger is on another file system.
#include <fcntl.h>
#include <sys/ioctl.h>

#include "tests/e2e/own_disk.h"
#include "tests/support/rounds.h"

namespace tony {
namespace {

// EXT4_IOC_SHUTDOWN: all later operations on the file system fail with EIO.
constexpr unsigned kShutDown = 0x8004587d;

class DeadDiskE2eTest : public OwnDiskTest {
 public:
  // Starts a job with a short grace period and waits until its task runs. Other homes are on a disk that works.
  void Begin() {
    MountAt(box_.home());
    if (IsSkipped()) return;
    HoldDetached(One(HoldUntilGo(), {"tony.task.stop-grace-ms=500"}));
    job_ = Job();
  }
  void Die() const {
    const int folder = open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const unsigned without_flush = 2;
    ASSERT_EQ(ioctl(folder, kShutDown, &without_flush), 0);
    close(folder);
    ASSERT_TRUE(std::ifstream(box_.JobFolder(job_) / "spec.json").get() < 0) << "its disk is dead";
  }
  // Makes the file system read-only, as the kernel does after its first error.
  void BecomeReadOnly() const {
    const std::string device = "$(findmnt -no SOURCE " + place_.string() + ")";
    ASSERT_EQ(Shell("echo 1 > /sys/fs/ext4/$(basename " + device + ")/trigger_fs_error"), 0);
    ASSERT_FALSE(std::ofstream(box_.JobFolder(job_) / "new").good());
  }
  void Recover() {
    ASSERT_EQ(Shell("umount " + place_.string() + " && e2fsck -fy " + box_.File("disk") + " > /dev/null; true"), 0);
    ASSERT_TRUE(MountFile(place_));
  }
  void ExpectTheNextJobRuns() const { Succeeds(One("true"), {{"TONY_HOME", box_.File("other-home")}}); }
  void ExpectTheDiskTells(const std::string& state) {
    ASSERT_NO_FATAL_FAILURE(Recover());
    const Ran waited = box_.Tony({"wait", job_});
    EXPECT_EQ(waited.exit, state == "SUCCEEDED" ? 0 : 1) << waited.err;
    EXPECT_THAT(waited.out, HasSubstr(state));
    EXPECT_TRUE(WaitForFile(box_.JobFolder(job_) / "finished"));
    EXPECT_THAT(box_.Tony({"list"}).out, HasSubstr(state));
    for (const auto& entry : fs::directory_iterator(box_.ledger()))
      EXPECT_FALSE(entry.path().filename().string().starts_with(".end-")) << "it is written, and not needed any more";
  }
  void ExpectAKillEndsIt() {
    const Ran killed = Succeeds({"kill", job_});
    EXPECT_THAT(killed.out, HasSubstr("KILLED"));
    ExpectNothingLeft();
    ExpectTheNextJobRuns();
    const Ran status = box_.Tony({"status", job_, "--json"});
    EXPECT_EQ(Text(ParseJson(status.out), "/state"), "KILLED") << status.err;
    Succeeds({"kill", job_});
    Fails(1, {"wait", job_});
    ExpectTheDiskTells("KILLED");
  }
  void ExpectATermEndsIt() {
    SignalAll("tony-keeper", SIGTERM);
    EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
    ExpectTheNextJobRuns();
    ExpectTheDiskTells("KILLED");
  }
  void ExpectItEndsWithItsTask() {
    Go();
    EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); }, 3 * kGenerous)) << ToString(box_.Processes());
    ExpectTheNextJobRuns();
    ExpectTheDiskTells("SUCCEEDED");
  }

  // Starts a job, damages the disk with `harm`, and ends the job with `end`.
  void RunWith(void (DeadDiskE2eTest::*harm)() const, void (DeadDiskE2eTest::*end)(), bool full_rounds) {
    if (full_rounds && Rounds(10) == 1) GTEST_SKIP() << "takes a minute, or is in tests/faults; with $TONY_FULL_ROUNDS";
    Begin();
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE((this->*harm)());
    (this->*end)();
  }

  std::string job_;
};

TEST_F(DeadDiskE2eTest, AKillEndsAJobWhoseDiskIsDead_RootOnly) {
  RunWith(&DeadDiskE2eTest::Die, &DeadDiskE2eTest::ExpectAKillEndsIt, false);
}

TEST_F(DeadDiskE2eTest, AKillEndsAJobWhoseDiskIsReadOnly_RootOnly) {
  RunWith(&DeadDiskE2eTest::BecomeReadOnly, &DeadDiskE2eTest::ExpectAKillEndsIt, false);
}

TEST_F(DeadDiskE2eTest, SigtermToTheKeeperEndsAJobWhoseDiskIsDead_RootOnly_FullRounds) {
  RunWith(&DeadDiskE2eTest::Die, &DeadDiskE2eTest::ExpectATermEndsIt, true);
}

TEST_F(DeadDiskE2eTest, SigtermToTheKeeperEndsAJobWhoseDiskIsReadOnly_RootOnly_FullRounds) {
  RunWith(&DeadDiskE2eTest::BecomeReadOnly, &DeadDiskE2eTest::ExpectATermEndsIt, true);
}

// The master waits half a minute for the repair of the disk.
TEST_F(DeadDiskE2eTest, AJobWhoseDiskIsDeadEndsWhenItsTaskEnds_RootOnly_FullRounds) {
  RunWith(&DeadDiskE2eTest::Die, &DeadDiskE2eTest::ExpectItEndsWithItsTask, true);
}

TEST_F(DeadDiskE2eTest, AJobWhoseDiskIsReadOnlyEndsWhenItsTaskEnds_RootOnly_FullRounds) {
  RunWith(&DeadDiskE2eTest::BecomeReadOnly, &DeadDiskE2eTest::ExpectItEndsWithItsTask, true);
}

}  // namespace
}  // namespace tony
