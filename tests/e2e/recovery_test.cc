// Recovery after `kill -9` of our own processes: no task is lost or started twice.
#include "tests/e2e/installation.h"
#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

// On a busy machine a keeper may need a long time from its start to its lock.
TEST_F(TonyTest, AJobWhoseKeeperIsStartingGetsNoSecondKeeper) {
  const Installation slow(box_, {{"tony-keeper", "until [ -e " + box_.File("go") + " ]; do sleep 0.05; done\n" +
                                                     BecomeBuilt("tony-keeper")}});
  ASSERT_EQ(slow.Tony(One("sleep 0.1") + Words{"--detach"}).exit, 0);
  EXPECT_THAT(slow.Tony({"list", "--json"}).out, HasSubstr("\"unruled\":false"));
  const Ran early = slow.Tony({"wait", Job(), "--timeout", "1"});
  EXPECT_EQ(early.exit, 69) << early.err;
  EXPECT_THAT(early.err, Not(HasSubstr("keeper")));
  Go();
  const Ran ran = slow.Tony({"wait", Job()});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("keeper")));
  ExpectNothingLeft();
}

class RecoveryTest : public TonyTest {
 protected:
  void SetUp() override {
    client_ = Hold(Workers(2, HoldUntilGo()), 2);
    pids_ = TaskPids();
  }

  Ran GoAndWait() {
    EXPECT_EQ(TaskPids(), pids_) << "a task was restarted";
    for (const char* task : {"worker-0", "worker-1"}) {
      const std::string pid = ReadText(Running(task));
      EXPECT_EQ(kill(std::stoi(pid), 0), 0) << task << " is gone";
    }
    Go();
    return client_->Wait();
  }

  std::unique_ptr<Background> client_;
  std::string pids_;
};

TEST_F(RecoveryTest, AKilledMasterIsReplacedAndNoTaskIsRestarted) {
  KillTogether({"tony-am"});
  ASSERT_TRUE(WaitFor([&] {
    return client_->err().find("application master restarted (epoch 2)") != std::string::npos;
  })) << client_->err();
  EXPECT_EQ(Epoch(), 2);
  const Ran ran = GoAndWait();
  EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
  EXPECT_EQ(ran.err.find("restarted"), ran.err.rfind("restarted")) << "once is enough:\n" << ran.err;
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, TheResultOfATaskThatEndsWhileNoMasterRunsIsNotLost) {
  // The stopped keeper cannot start a new AM.
  const std::vector<pid_t> keeper = box_.Pids("tony-keeper");
  ASSERT_EQ(keeper.size(), 1u);
  kill(keeper[0], SIGSTOP);
  SignalAll("tony-am", SIGKILL);
  Go();
  ASSERT_TRUE(WaitFor([&] { return kill(std::stoi(ReadText(Running("worker-0"))), 0) != 0; }));
  kill(keeper[0], SIGCONT);
  Ends(*client_);
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, KillingAnExecutorRestartsTheGangWithoutUsingTheRestartBudget) {
  const std::vector<pid_t> executors = box_.Pids("tony-executor");
  ASSERT_EQ(executors.size(), 2u);
  kill(executors[0], SIGKILL);
  ASSERT_TRUE(WaitFor([&] { return client_->err().find("job running again (generation 2)") != std::string::npos; }))
      << client_->err();
  const auto status = Status();
  ExpectJson(status, {{"/restart_count", 1},
                      {"/restarts/0/scope", "gang"},
                      {"/restarts/0/charged", false},
                      {"/tasks/0/attempt", 2},
                      {"/tasks/1/attempt", 2}});
  const Ran ran = GoAndEnd(*client_);
  EXPECT_THAT(ran.err, HasSubstr("restart 1 (gang): worker:"));
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, TheStatusCommandReportsAMissingMasterAndTheWaitCommandRestartsTheMaster) {
  client_->Signal(SIGKILL);
  client_->Wait();
  KillTogether();
  const Ran status = Succeeds({"status", Job()});
  EXPECT_THAT(status.out, HasSubstr("no application master runs for this job; tony wait " + Job() + " starts one"));
  EXPECT_TRUE(box_.Pids("tony-keeper").empty()) << "status restarts no application master";
  client_ = box_.StartTony({"wait", Job()});
  ASSERT_TRUE(WaitFor([&] { return Epoch() >= 2; })) << client_->err();
  const Ran ran = GoAndWait();
  EXPECT_EQ(ran.exit, 0) << ran.err << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("no application master ran for job"));
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, AKillSentWhileNoMasterRunsReachesTheNextMaster) {
  const std::vector<pid_t> keeper = box_.Pids("tony-keeper");
  ASSERT_EQ(keeper.size(), 1u);
  kill(keeper[0], SIGSTOP);
  SignalAll("tony-am", SIGKILL);
  client_->Signal(SIGINT);
  ASSERT_TRUE(WaitForFile(box_.JobFolder(Job()) / "kill-requests"));
  kill(keeper[0], SIGCONT);
  Ends(*client_, 130);
  ExpectNothingLeft();
}

class NoFreeRestartTest : public TonyTest {};

TEST_F(NoFreeRestartTest, AKilledExecutorFailsTheJobIfTheRestartBudgetForLostTasksIsZero) {
  const auto client = Hold(Workers(2, HoldUntilGo(), {"tony.restart.lost.budget=0"}), 2);
  const std::vector<pid_t> executors = box_.Pids("tony-executor");
  ASSERT_EQ(executors.size(), 2u);
  kill(executors[0], SIGKILL);
  Ends(*client, 1);
  ExpectNothingLeft();
  const auto status = Status();
  ExpectJson(status, {{"/state", "FAILED"}, {"/verdict/class", "infra"}});
}

}  // namespace
}  // namespace tony
