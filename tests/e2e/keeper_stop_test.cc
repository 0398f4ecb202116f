// A service manager or a person stops a job with a signal to its keeper (the supervisor of the job).
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class KeeperStopTest : public TonyTest {
 protected:
  // A task that needs half a second to stop, and then writes the file "stopped".
  std::string StopsInGoodOrder() const {
    return "trap 'sleep 0.5; touch " + box_.File("stopped") + "; exit 0' TERM; echo $$ > " +
           box_.File("running-worker-0") + "; while :; do sleep 0.02; done";
  }
  pid_t Keeper() const {
    const std::vector<pid_t> keepers = box_.Pids("tony-keeper");
    EXPECT_EQ(keepers.size(), 1u);
    return keepers.empty() ? 0 : keepers.front();
  }
  std::string Sender() const {
    return " from process " + std::to_string(getpid()) + " of uid " + std::to_string(getuid());
  }
};

TEST_F(KeeperStopTest, SigtermToTheKeeperStopsTheJobGracefullyAndTheVerdictNamesTheSender) {
  const auto client = Hold(One(StopsInGoodOrder()));
  kill(Keeper(), SIGTERM);
  Ends(*client, 1);
  EXPECT_TRUE(fs::exists(box_.File("stopped"))) << "the task had its grace";
  const auto status = Status();
  ExpectJson(status, {{"/state", "KILLED"}, {"/verdict/class", "killed"}});
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("the job's keeper got SIGTERM" + Sender()));
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("SIGTERM"));
  ExpectNothingLeft();
}

TEST_F(KeeperStopTest, ASecondSignalToTheKeeperDoesNotShortenTheGracePeriod) {
  const auto client = Hold(One(StopsInGoodOrder()));
  const pid_t keeper = Keeper();
  kill(keeper, SIGTERM);
  ASSERT_TRUE(WaitForFile(box_.JobFolder(Job()) / "kill-requests"));
  kill(keeper, SIGTERM);
  kill(keeper, SIGINT);
  Ends(*client, 1);
  EXPECT_TRUE(fs::exists(box_.File("stopped"))) << "the task had its grace";
  const auto status = Status();
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("SIGTERM" + Sender())) << "of the first";
  ExpectNothingLeft();
}

TEST_F(KeeperStopTest, AJobStoppedBySigtermToItsKeeperIsNotRestarted) {
  HoldDetached(One(StopsInGoodOrder()));
  kill(Keeper(), SIGTERM);
  ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  const Ran ran = Fails(1, {"wait", Job()});
  EXPECT_THAT(ran.out, HasSubstr("SIGTERM"));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
