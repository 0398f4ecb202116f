// Ending a job before its time: by signals to the waiting client, by `tony kill`, and what must be gone afterwards.
#include <csignal>
#include <cstring>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::HasSubstr;

class StopTest : public TonyTest {
 protected:
  // Ignores TERM, and so do its children.
  std::string Stubborn() const { return "trap '' TERM; " + HoldUntilGo(); }

  std::unique_ptr<Background> StartRunning(const Words& submit, int workers) {
    auto client = box_.StartTony(submit);
    EXPECT_TRUE(WaitForRunning(workers)) << client->err();
    return client;
  }
  boost::json::value Status() { return ParseJson(box_.Tony({"status", Job(), "--json"}).out); }
};

class StopSignalTest : public StopTest, public testing::WithParamInterface<int> {};

TEST_P(StopSignalTest, ASignalToTheWaitingClientKillsItsJob) {
  const auto client = StartRunning(Workers(2, HoldUntilGo()), 2);
  client->Signal(GetParam());
  const Ran ran = client->Wait();
  EXPECT_EQ(ran.exit, 128 + GetParam()) << ran.err;
  ExpectNothingLeft();
  const auto status = Status();
  EXPECT_EQ(Text(status, "/state"), "KILLED");
  EXPECT_EQ(Text(status, "/verdict/class"), "killed");
  EXPECT_THAT(ran.err, HasSubstr("killing job " + Job()));
}

INSTANTIATE_TEST_SUITE_P(AllThree, StopSignalTest, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const testing::TestParamInfo<int>& signal) {
                           return std::string("SIG") + sigabbrev_np(signal.param);
                         });

TEST_F(StopTest, CtrlCAtATerminalReachesTheWholeGroupAndStillEndsInOrder) {
  const auto client = StartRunning(One(HoldUntilGo()), 1);
  client->SignalGroup(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130);
  ExpectNothingLeft();
}

TEST_F(StopTest, AHangupThatTheShellIgnoresIsIgnored) {
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

TEST_F(StopTest, ASignalBeforeAnythingRunsLeavesNothingRunning) {
  const auto client = box_.StartTony(One("exec sleep 1000"));
  ASSERT_TRUE(WaitFor([&] { return CountLines(client->out()) == 1; }));
  client->Signal(SIGTERM);
  EXPECT_EQ(client->Wait().exit, 143) << client->err();
  ExpectNothingLeft();
}

TEST_F(StopTest, TheSecondCtrlCEndsATaskThatIgnoresTermAtOnce) {
  const auto client = StartRunning(One(Stubborn()) + Conf("tony.task.stop-grace-ms=24000"), 1);
  client->Signal(SIGINT);
  ASSERT_TRUE(WaitFor([&] { return client->err().find("once more") != std::string::npos; }));
  const auto before = std::chrono::steady_clock::now();
  client->Signal(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130) << client->err();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20)) << "the grace was not cut short";
  ExpectNothingLeft();
}

TEST_F(StopTest, ATaskThatIgnoresTermIsKilledAfterTheGrace) {
  const auto client = StartRunning(One(Stubborn()) + Conf("tony.task.stop-grace-ms=200"), 1);
  client->Signal(SIGTERM);
  EXPECT_EQ(client->Wait().exit, 143) << client->err();
  ExpectNothingLeft();
}

TEST_F(StopTest, ATaskMayTidyUpWhenItIsAskedToStop) {
  const auto client = StartRunning(One("trap 'echo tidied; exit 0' TERM; " + HoldUntilGo()), 1);
  client->Signal(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130) << client->err();
  EXPECT_EQ(LogText("worker-0", "stdout"), "tidied\n");
  EXPECT_EQ(Text(Status(), "/state"), "KILLED");
}

TEST_F(StopTest, ADetachedJobHasNoClientToSignal) {
  const Ran submit = box_.Tony(One(HoldUntilGo()) + Words{"--detach"});
  ASSERT_EQ(submit.exit, 0) << submit.err;
  ASSERT_TRUE(WaitForRunning(1));
  const auto wait = box_.StartTony({"wait", Job(), "--follow"});
  ASSERT_TRUE(WaitFor([&] { return wait->out().find("job running") != std::string::npos; })) << wait->err();
  wait->Signal(SIGINT);
  EXPECT_EQ(wait->Wait().exit, 130);
  EXPECT_EQ(Text(Status(), "/state"), "RUNNING") << "an interrupted wait must not touch the job";
  Go();
  EXPECT_EQ(box_.Tony({"wait", Job()}).exit, 0);
  ExpectNothingLeft();
}

TEST_F(StopTest, AKilledClientLeavesTheJobRunningAndWaitFindsIt) {
  const auto client = StartRunning(One(HoldUntilGo()), 1);
  client->Signal(SIGKILL);
  EXPECT_EQ(client->Wait().exit, 137);
  const auto wait = box_.StartTony({"wait", Job()});
  Go();
  const Ran ran = wait->Wait();
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("SUCCEEDED"));
  ExpectNothingLeft();
}

TEST_F(StopTest, KillEndsAJobAndMayBeRepeated) {
  const auto client = StartRunning(Workers(2, HoldUntilGo()), 2);
  const Ran kill = box_.Tony({"kill", Job(), "--reason", "wrong data"});
  EXPECT_EQ(kill.exit, 0) << kill.err;
  const Ran submit = client->Wait();
  EXPECT_EQ(submit.exit, 1) << submit.err;
  EXPECT_THAT(submit.out, HasSubstr("KILLED"));
  EXPECT_THAT(submit.out, HasSubstr("wrong data"));
  ExpectNothingLeft();
  const Ran again = box_.Tony({"kill", Job()});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("has ended already"));
}

TEST_F(StopTest, KillWithoutWaitingReturnsWhileTheTaskStillStops) {
  const auto client = StartRunning(One(Stubborn()) + Conf("tony.task.stop-grace-ms=700"), 1);
  const Ran kill = box_.Tony({"kill", Job(), "--no-wait", "--json"});
  EXPECT_EQ(kill.exit, 0) << kill.err;
  EXPECT_EQ(At(ParseJson(kill.out), "/killed"), boost::json::value(true));
  EXPECT_TRUE(std::filesystem::exists(box_.JobFolder(Job()) / "kill-requests"));
  EXPECT_EQ(client->Wait().exit, 1);
  ExpectNothingLeft();
}

TEST_F(StopTest, WhatEscapedIntoASessionOfItsOwnIsGoneAfterSuccess) {
  const std::string escapee = "setsid sh -c 'sleep 1000; : " + box_.File("x") + "' & ";
  const Ran ran = box_.Tony(One(escapee + "setsid env -i sh -c 'touch " + box_.File("escaped") +
                                "; sleep 1000; :' & until [ -e " + box_.File("escaped") + " ]; do sleep 0.02; done") +
                            Conf("tony.task.background=end"));
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ExpectNothingLeft();
}

TEST_F(StopTest, WhatEscapedIntoASessionOfItsOwnIsGoneAfterAKill) {
  const auto client = StartRunning(
      One("(setsid env -i sh -c 'trap \"\" TERM; sleep 1000; : " + box_.File("x") + "' &); " + HoldUntilGo()) +
          Conf("tony.task.stop-grace-ms=300"),
      1);
  client->Signal(SIGINT);
  EXPECT_EQ(client->Wait().exit, 130) << client->err();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
