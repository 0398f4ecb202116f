// A service manager, or a person, stops a job by a signal to its keeper.
#include <unistd.h>

#include <csignal>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

using testing::HasSubstr;

class KeeperStopTest : public TonyTest {
 protected:
  // A task that needs a while to stop, and says when it has.
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

TEST_F(KeeperStopTest, TermEndsTheJobInGoodOrderAndTheVerdictSaysWhoSentIt) {
  const auto client = box_.StartTony(One(StopsInGoodOrder()));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  kill(Keeper(), SIGTERM);
  const Ran ran = client->Wait();
  EXPECT_EQ(ran.exit, 1) << ran.err;
  EXPECT_TRUE(std::filesystem::exists(box_.File("stopped"))) << "the task had its grace";
  const auto status = ParseJson(box_.Tony({"status", Job(), "--json"}).out);
  EXPECT_EQ(Text(status, "/state"), "KILLED");
  EXPECT_EQ(Text(status, "/verdict/class"), "killed");
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("the job's keeper got SIGTERM" + Sender()));
  EXPECT_THAT(box_.Tony({"history"}).out, HasSubstr("SIGTERM"));
  ExpectNothingLeft();
}

TEST_F(KeeperStopTest, AnotherTermChangesNothing) {
  const auto client = box_.StartTony(One(StopsInGoodOrder()));
  ASSERT_TRUE(WaitForRunning(1)) << client->err();
  const pid_t keeper = Keeper();
  kill(keeper, SIGTERM);
  ASSERT_TRUE(WaitForFile(box_.JobFolder(Job()) / "kill-requests"));
  kill(keeper, SIGTERM);
  kill(keeper, SIGINT);
  EXPECT_EQ(client->Wait().exit, 1);
  EXPECT_TRUE(std::filesystem::exists(box_.File("stopped"))) << "the task had its grace";
  const auto status = ParseJson(box_.Tony({"status", Job(), "--json"}).out);
  EXPECT_THAT(Text(status, "/verdict/message"), HasSubstr("SIGTERM" + Sender())) << "of the first";
  ExpectNothingLeft();
}

TEST_F(KeeperStopTest, AJobThatWasStoppedIsNotBroughtBack) {
  ASSERT_EQ(box_.Tony(One(StopsInGoodOrder()) + Words{"--detach"}).exit, 0);
  ASSERT_TRUE(WaitForRunning(1));
  kill(Keeper(), SIGTERM);
  ASSERT_TRUE(WaitFor([&] { return box_.Processes().empty(); })) << ToString(box_.Processes());
  const Ran ran = box_.Tony({"wait", Job()});
  EXPECT_EQ(ran.exit, 1);
  EXPECT_THAT(ran.out, HasSubstr("SIGTERM"));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
