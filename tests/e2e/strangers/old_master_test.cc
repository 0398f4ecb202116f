// Jobs of the release that had no Unix sockets: their masters listen at a TCP port, and any process can take the port
// after the death of the master.
#include <sys/socket.h>

#include "runtime/net/sockets.h"
#include "tests/e2e/strangers/master_job.h"

namespace tony {
namespace {

// The lease record of this job names a TCP port, as in that release. An impostor listens at the port.
class OldMasterTest : public MasterTest {
 protected:
  void SetUp() override {
    MasterTest::SetUp();
    if (IsSkipped()) return;
    Submit();
    impostor_ = *ListenOn({"127.0.0.1", 0});
    kill(Master(), SIGSTOP);
    const std::string lease = R"({"schema":1,"epoch":1,"host":"127.0.0.1","port":)" +
                              std::to_string(BoundAddress(impostor_)->port) + R"(,"renewal":9})";
    ASSERT_TRUE(user_->Write(Folder() / "am.lease", lease, 0600));
  }
  bool WasCalled() const {
    return UniqueFd(::accept4(impostor_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).valid();
  }

  UniqueFd impostor_;
};

TEST_F(OldMasterTest, ClientsSendNoTokenOverTcpToAMasterOfAnEarlierRelease) {
  const Ran status = Tony({"status", "--json", Job()});
  EXPECT_EQ(Text(ParseJson(status.out), "/state"), "RUNNING");
  EXPECT_EQ(At(ParseJson(status.out), "/am_reachable"), value(false));
  const Ran wait = Tony({"wait", Job(), "--timeout", "2"});
  EXPECT_EQ(wait.exit, 69);
  EXPECT_THAT(wait.err, HasSubstr("a job's token is not sent over TCP; this command reads the job's files instead"));
  EXPECT_EQ(wait.err.find("over TCP"), wait.err.rfind("over TCP")) << "once is enough";
  const Ran killed = Tony({"kill", Job(), "--no-wait"});
  EXPECT_EQ(killed.exit, 0) << killed.err;
  EXPECT_TRUE(fs::exists(Folder() / "kill-requests"));
  EXPECT_FALSE(WasCalled());

  // The master reads the request once a second.
  kill(Master(), SIGCONT);
  const Ran ran = client_->Wait();
  EXPECT_EQ(ran.exit, 1);
  EXPECT_FALSE(WasCalled());
}

TEST_F(OldMasterTest, TheNextMasterStillListensOnTcpForExecutorsOfAnEarlierRelease) {
  const pid_t executor = Pid("tony-executor");
  kill(Master(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Socket() == "am.2.sock" && IsReached(); }));
  const auto lease = ParseJson(ReadText(Folder() / "am.lease"));
  EXPECT_EQ(Text(lease, "/host"), "127.0.0.1");
  EXPECT_TRUE(ListeningPorts(user_->Processes()).contains(static_cast<int>(Number(lease, "/port"))));
  kill(Master(), SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return Socket() == "am.3.sock" && IsReached(); }));
  EXPECT_GT(Number(ParseJson(ReadText(Folder() / "am.lease")), "/port"), 0);
  EXPECT_EQ(End(0).exit, 0);
  EXPECT_FALSE(WasCalled());
  EXPECT_GT(executor, 0);
}

}  // namespace
}  // namespace tony
