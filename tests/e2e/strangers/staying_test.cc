// A process of a job that has become root, so that no signal of the job's user ends it: a kill of the job still
// returns.
#include "tests/e2e/strangers/strangers_test.h"

namespace tony {
namespace {

class StayingProcessTest : public StrangersTest {
 protected:
  void SetUp() override {
    StrangersTest::SetUp();
    if (IsSkipped()) return;
    if (!fs::exists("/usr/bin/setpriv")) GTEST_SKIP() << "needs setpriv of util-linux";
    fs::copy_file("/usr/bin/setpriv", shared_.path() / "become-root");
    fs::permissions(shared_.path() / "become-root", static_cast<fs::perms>(04755));
    user_ = std::make_unique<OtherUser>();
  }
  ~StayingProcessTest() override {
    if (user_ && Pid() > 0) kill(Pid(), SIGKILL);
  }
  std::string PidFile() const { return (user_->home() / "pid").string(); }
  pid_t Pid() const { return std::atoi(user_->Read(PidFile()).value_or("0").c_str()); }
  // True once setpriv has become root and has started sleep.
  bool IsRootsSleep() const {
    const fs::path folder = "/proc/" + std::to_string(Pid());
    struct stat info {};
    return Pid() > 0 && ReadText(folder / "comm") == "sleep\n" && stat(folder.c_str(), &info) == 0 && info.st_uid == 0;
  }
  bool HasPlace() const {
    for (const auto& entry : fs::directory_iterator(user_->ledger()))
      if (entry.path().extension() == ".running") return true;
    return false;
  }

  SharedFolder shared_;
  std::unique_ptr<OtherUser> user_;
};

// The process uses memory until it exits, so the job keeps its reservation until then.
TEST_F(StayingProcessTest, AKilledJobKeepsItsReservationWhileARootProcessOfTheJobRuns_NeedsRoot) {
  Words job = One((shared_.path() / "become-root").string() + " --reuid 0 sleep 1000 & echo $! > " + PidFile() +
                  "; exec sleep 1000");
  job.insert(job.end(), {"--detach", "-conf", "tony.task.stop-grace-ms=100"});
  const Ran submitted = user_->Tony(job);
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  ASSERT_TRUE(WaitFor([&] { return IsRootsSleep(); }));

  const Ran killed = user_->Tony({"kill", submitted.out.substr(0, submitted.out.find('\n'))});

  EXPECT_EQ(killed.exit, 0) << killed.err;
  EXPECT_THAT(killed.err, HasSubstr("process " + std::to_string(Pid()) + " (sleep) of root cannot be ended by " +
                                    std::to_string(user_->uid())));
  EXPECT_TRUE(HasPlace());
  EXPECT_EQ(kill(Pid(), SIGKILL), 0) << "it lives";
  EXPECT_TRUE(WaitFor([&] { return !HasPlace() && user_->Processes().empty(); }));
}

}  // namespace
}  // namespace tony
