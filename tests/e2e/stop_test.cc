// Jobs that are stopped before their end by a signal to the waiting client or by `tony kill`: no process is left
// afterwards.
#include <cstring>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

class StopTest : public TonyTest {
 protected:
  // A command that ignores SIGTERM, as its children do.
  std::string Stubborn() const { return "trap '' TERM; " + HoldUntilGo(); }

  std::unique_ptr<Background> StartRunning(const Words& submit, int workers) {
    auto client = box_.StartTony(submit);
    EXPECT_TRUE(WaitForRunning(workers)) << client->err();
    return client;
  }
};

class StopSignalTest : public StopTest, public testing::WithParamInterface<int> {};

TEST_P(StopSignalTest, ASignalToTheWaitingClientKillsItsJob) {
  const auto client = StartRunning(Workers(2, HoldUntilGo()), 2);
  client->Signal(GetParam());
  const Ran ran = client->Wait();
  EXPECT_EQ(ran.exit, 128 + GetParam()) << ran.err;
  ExpectNothingLeft();
  const auto status = Status();
  ExpectJson(status, {{"/state", "KILLED"}, {"/verdict/class", "killed"}});
  EXPECT_THAT(ran.err, HasSubstr("killing job " + Job()));
}

INSTANTIATE_TEST_SUITE_P(AllThree, StopSignalTest, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const testing::TestParamInfo<int>& signal) {
                           return std::string("SIG") + sigabbrev_np(signal.param);
                         });

TEST_F(StopTest, CtrlCSentToTheWholeProcessGroupKillsTheJobGracefully) {
  const auto client = StartRunning(One(HoldUntilGo()), 1);
  client->SignalGroup(SIGINT);
  Ends(*client, 130);
  ExpectNothingLeft();
}

TEST_F(StopTest, TheClientIgnoresSighupIfTheShellIgnoresSighup) {
  Background client(
      {"/bin/bash", "-c",
       "trap '' HUP; exec " + ProgramFolder() + "/tony submit -executes '" + HoldUntilGo() +
           "' -conf tony.worker.instances=1"},
      {"PATH=/usr/bin:/bin", "TONY_HOME=" + box_.home().string(), "TONY_LEDGER=" + box_.ledger().string()},
      box_.folder());
  ASSERT_TRUE(WaitForRunning(1)) << client.err();
  client.Signal(SIGHUP);
  Go();
  EXPECT_EQ(client.Wait().exit, 0) << client.err();
  ExpectNothingLeft();
}

TEST_F(StopTest, ASignalToTheClientBeforeTheFirstTaskRunsLeavesNoProcesses) {
  const auto client = box_.StartTony(One("exec sleep 1000"));
  ASSERT_TRUE(WaitFor([&] { return CountLines(client->out()) == 1; }));
  client->Signal(SIGTERM);
  Ends(*client, 143);
  ExpectNothingLeft();
}

TEST_F(StopTest, ASecondCtrlCImmediatelyKillsATaskThatIgnoresSigterm) {
  const auto client = StartRunning(One(Stubborn(), {"tony.task.stop-grace-ms=24000"}), 1);
  client->Signal(SIGINT);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("a second signal") != std::string::npos; }));
  const auto before = std::chrono::steady_clock::now();
  client->Signal(SIGINT);
  Ends(*client, 130);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20)) << "the grace was not cut short";
  ExpectNothingLeft();
}

TEST_F(StopTest, ATaskThatIgnoresSigtermIsKilledAfterTheGracePeriod) {
  const auto client = StartRunning(One(Stubborn(), {"tony.task.stop-grace-ms=200"}), 1);
  client->Signal(SIGTERM);
  Ends(*client, 143);
  ExpectNothingLeft();
}

TEST_F(StopTest, ATaskMayCleanUpAfterSigterm) {
  const auto client = StartRunning(One("trap 'echo tidied; exit 0' TERM; " + HoldUntilGo()), 1);
  client->Signal(SIGINT);
  Ends(*client, 130);
  EXPECT_EQ(LogText("worker-0", "stdout"), "tidied\n");
  EXPECT_EQ(Text(Status(), "/state"), "KILLED");
}

TEST_F(StopTest, InterruptingTheWaitCommandLeavesADetachedJobRunning) {
  HoldDetached(One(HoldUntilGo()));
  const auto wait = box_.StartTony({"wait", Job(), "--follow"});
  ASSERT_TRUE(WaitFor([&] { return wait->out().find("job running") != std::string::npos; })) << wait->err();
  wait->Signal(SIGINT);
  Ends(*wait, 130);
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING") << "an interrupted wait must not touch the job";
  Go();
  Succeeds({"wait", Job()});
  ExpectNothingLeft();
}

TEST_F(StopTest, AJobWhoseClientWasKilledKeepsRunningAndCanBeWaitedFor) {
  const auto client = StartRunning(One(HoldUntilGo()), 1);
  client->Signal(SIGKILL);
  Ends(*client, 137);
  const auto wait = box_.StartTony({"wait", Job()});
  const Ran ran = GoAndEnd(*wait);
  EXPECT_THAT(ran.out, HasSubstr("SUCCEEDED"));
  ExpectNothingLeft();
}

TEST_F(StopTest, TheKillCommandEndsAJobAndMayBeRepeated) {
  const auto client = StartRunning(Workers(2, HoldUntilGo()), 2);
  const Ran kill = Succeeds({"kill", Job(), "--reason", "wrong data"});
  const Ran submit = Ends(*client, 1);
  EXPECT_THAT(submit.out, HasAll({"KILLED", "wrong data"}));
  ExpectNothingLeft();
  const Ran again = Succeeds({"kill", Job()});
  EXPECT_THAT(again.out, HasSubstr("had already ended"));
}

TEST_F(StopTest, TheKillCommandWithNoWaitReturnsBeforeTheTaskHasStopped) {
  const auto client = StartRunning(One(Stubborn(), {"tony.task.stop-grace-ms=700"}), 1);
  const Ran kill = Succeeds({"kill", Job(), "--no-wait", "--json"});
  EXPECT_EQ(At(ParseJson(kill.out), "/killed"), value(true));
  EXPECT_TRUE(fs::exists(box_.JobFolder(Job()) / "kill-requests"));
  Ends(*client, 1);
  ExpectNothingLeft();
}

TEST_F(StopTest, TaskProcessesInSeparateSessionsHaveExitedAfterTheJobSucceeds) {
  const std::string escapee = "setsid sh -c 'sleep 1000; : " + box_.File("x") + "' & ";
  Succeeds(One(escapee + "setsid env -i sh -c 'touch " + box_.File("escaped") + "; sleep 1000; :' & until [ -e " +
                   box_.File("escaped") + " ]; do sleep 0.02; done",
               {"tony.task.background=end"}));
  ExpectNothingLeft();
}

TEST_F(StopTest, TaskProcessesInSeparateSessionsHaveExitedAfterAKill) {
  const auto client = StartRunning(
      One("(setsid env -i sh -c 'trap \"\" TERM; sleep 1000; : " + box_.File("x") + "' &); " + HoldUntilGo(),
          {"tony.task.stop-grace-ms=300"}),
      1);
  client->Signal(SIGINT);
  Ends(*client, 130);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
