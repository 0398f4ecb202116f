// The file system of the history is frozen: a writer sleeps in the kernel and no signal ends it. Jobs must still end
// and free their memory.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "tests/e2e/own_disk.h"

namespace tony {
namespace {

// A process of ours that writes to the history cannot be killed while the file system is frozen.
class FrozenHistoryTest : public OwnDiskTest {
 protected:
  void Freeze() {
    folder_ = open(place_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ASSERT_EQ(ioctl(folder_, FIFREEZE, 0), 0);
  }
  void Thaw() {
    if (folder_ < 0) return;
    EXPECT_EQ(ioctl(folder_, FITHAW, 0), 0);
    close(folder_);
    folder_ = -1;
  }
  void TearDown() override {
    Thaw();
    OwnDiskTest::TearDown();
  }

  bool LedgerIsEmpty() const {
    for (const auto& entry : fs::directory_iterator(box_.ledger()))
      if (entry.path().extension() == ".running" || entry.path().extension() == ".waiting") return false;
    return true;
  }
  // Checks that the job has ended and has freed its reservation, so that the next job runs.
  void ExpectTheNextJobRuns() const {
    EXPECT_TRUE(WaitFor([&] { return LedgerIsEmpty(); }));
    const Ran ran = Fails(0, One("true"));
  }
  void KillAll() const {
    EXPECT_TRUE(WaitFor([&] {
      for (const Process& process : box_.Processes()) kill(process.pid, SIGKILL);
      return box_.Processes().empty();
    }));
  }

  int folder_ = -1;
};

TEST_F(FrozenHistoryTest, AJobEndsAndFreesItsMemoryWhileTheHistoryDiskIsFrozen_RootOnly) {
  MountAt(box_.home() / "history");
  if (IsSkipped()) return;
  const auto client = Hold(One(HoldUntilGo()));
  Freeze();
  GoAndEnd(*client);
  ExpectTheNextJobRuns();
  Thaw();
  // The waiting writers finish after the thaw.
  EXPECT_TRUE(WaitFor([&] { return CountLines(ReadText(box_.home() / "history/ended.log")) == 2; }));
}

TEST_F(FrozenHistoryTest, AKillEndsTheJobWhileTheHistoryDiskIsFrozen_RootOnly) {
  MountAt(box_.home() / "history");
  if (IsSkipped()) return;
  const auto client = Hold(One(HoldUntilGo()));
  Freeze();
  Fails(0, {"kill", Job(), "--reason", "enough"});
  Ends(*client, 1);
  ExpectTheNextJobRuns();
}

TEST_F(FrozenHistoryTest, AFrozenHistoryDiskDoesNotBlockTheStartOfTheNextMaster_RootOnly) {
  MountAt(box_.folder() / "tony");
  if (IsSkipped()) return;
  Freeze();
  const auto client = Hold(One(HoldUntilGo(), {"tony.history.location=" + (box_.folder() / "tony").string()}));
  // A master that waits for the frozen disk must not prevent the start of the next master.
  SignalAll("tony-am", SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("restarted (epoch 2)") != std::string::npos; })) << client->err();
  GoAndEnd(*client);
  ExpectTheNextJobRuns();
  Thaw();
  EXPECT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  size_t ended = 0;
  for (const auto& file : fs::recursive_directory_iterator(box_.folder() / "tony")) {
    EXPECT_NE(file.path().extension(), ".inprogress");
    ended += file.path().extension() == ".jhist" ? 1 : 0;
  }
  EXPECT_EQ(ended, 1u);
}

TEST_F(FrozenHistoryTest, TheWaitCommandReturnsTheVerdictOfALostJobWhileTheHistoryDiskIsFrozen_RootOnly) {
  MountAt(box_.home() / "history");
  if (IsSkipped()) return;
  Fails(0, One(HoldUntilGo()) + Words{"--detach"});
  ASSERT_TRUE(WaitForRunning(1));
  KillAll();
  std::ofstream(box_.JobFolder(Job()) / "boot-id") << "00000000-0000-0000-0000-000000000000\n";
  Freeze();
  const Ran ran = Fails(1, {"wait", Job()});
  EXPECT_THAT(ran.err + ran.out, HasSubstr("restarted"));
}

}  // namespace
}  // namespace tony
