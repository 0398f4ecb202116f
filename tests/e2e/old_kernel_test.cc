// Whole jobs where the kernel's newer calls are missing: pidfds, close_range and others.
#include <algorithm>
#include <csignal>

#include "tests/e2e/json.h"
#include "tests/e2e/tony_test.h"
#include "tests/support/places.h"

namespace tony {
namespace {

using testing::HasSubstr;

const Words kPrograms = {"tony-am", "tony-executor", "tony-keeper"};

class OldKernelTest : public TonyTest {
 protected:
  std::unique_ptr<Background> StartOld(const Words& arguments) const {
    return std::make_unique<Background>(Words{TestProgram("old_kernel"), ProgramFolder() + "/tony"} + arguments,
                                        box_.Environment(), box_.folder());
  }
  // Two workers that note each start, and are started anew together.
  void StartJob() {
    const std::string note = "echo $TASK_INDEX $TONY_ATTEMPT >> " + box_.File("starts") + "; ";
    client_ = StartOld(Workers(2, note + HoldUntilGo()) + Conf("tony.restart.gang.budget=5") +
                       Conf("tony.restart.backoff-ms=10"));
    ASSERT_TRUE(WaitForRunning(2)) << client_->err();
    for (const std::string& program : kPrograms)
      for (const pid_t pid : box_.Pids(program))
        EXPECT_THAT(ReadText("/proc/" + std::to_string(pid) + "/status"), HasSubstr("Seccomp:\t2")) << program;
  }
  void KillAll(const std::string& program) const {
    for (const pid_t pid : box_.Pids(program)) kill(pid, SIGKILL);
  }
  size_t Starts() const { return CountLines(ReadText(box_.File("starts"))); }
  void ExpectSuccess() {
    Go();
    const Ran ran = client_->Wait();
    EXPECT_EQ(ran.exit, 0) << ran.err << ran.out << ReadText(box_.JobFolder(Job()) / "keeper.log");
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> client_;
};

TEST_F(OldKernelTest, AGangIsStartedAnew) {
  StartJob();
  KillAll("tony-executor");
  ASSERT_TRUE(WaitFor([&] { return Starts() == 4; })) << client_->err();
  ExpectSuccess();
  EXPECT_THAT(client_->err(), HasSubstr("restart 1 (gang)"));
}

TEST_F(OldKernelTest, MasterAndKeeperDieAndTheTasksDoNotNotice) {
  StartJob();
  KillAll("tony-keeper");
  KillAll("tony-am");
  ASSERT_TRUE(WaitFor([&] { return client_->err().find("(epoch 2)") != std::string::npos; })) << client_->err();
  ExpectSuccess();
  EXPECT_EQ(Starts(), 2u);
}

TEST_F(OldKernelTest, AnAdoptedExecutorThatDiesIsSeen) {
  StartJob();
  KillAll("tony-keeper");
  ASSERT_TRUE(WaitFor([&] { return !box_.Pids("tony-keeper").empty(); })) << client_->err();
  KillAll("tony-executor");
  ASSERT_TRUE(WaitFor([&] { return Starts() == 4; })) << client_->err();
  ExpectSuccess();
}

TEST_F(OldKernelTest, AKilledJobLeavesNothing) {
  StartJob();
  EXPECT_EQ(StartOld({"kill", Job()})->Wait().exit, 0);
  EXPECT_EQ(client_->Wait().exit, 1);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
