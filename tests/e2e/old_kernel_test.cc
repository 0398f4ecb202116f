// Whole jobs on a kernel without the newer system calls: pidfds, close_range and others.
#include <cstdlib>
#include <optional>

#include "tests/e2e/tony_test.h"

namespace tony {
namespace {

const Words kPrograms = {"tony-am", "tony-executor", "tony-keeper"};

size_t Count(const std::string& text, const std::string& piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

// Returns the number of seccomp filters of a process; nullopt on a kernel that does not show it (before 5.10). A
// container may have filters of its own.
std::optional<int> Filters(const std::string& process) {
  const std::string field = "\nSeccomp_filters:\t";
  const std::string status = ReadText("/proc/" + process + "/status");
  const size_t at = status.find(field);
  if (at == std::string::npos) return std::nullopt;
  return std::atoi(status.c_str() + at + field.size());
}

class OldKernelTest : public TonyTest {
 protected:
  std::unique_ptr<Background> StartOld(const Words& arguments) const {
    return std::make_unique<Background>(Words{TestProgram("old_kernel"), ProgramFolder() + "/tony"} + arguments,
                                        box_.Environment(), box_.folder());
  }
  // Starts two workers that append each start to a file. A failure restarts both.
  void StartJob() {
    const std::string note = "echo $TASK_INDEX $TONY_ATTEMPT >> " + box_.File("starts") + "; ";
    client_ = StartOld(Workers(2, note + HoldUntilGo(), {"tony.restart.gang.budget=5", "tony.restart.backoff-ms=10"}));
    ASSERT_TRUE(WaitForRunning(2)) << client_->err();
    ExpectFiltered();
  }
  // Checks that our programs have one filter more than this test: the filter of old_kernel, which tries the filter
  // before it starts the first program.
  void ExpectFiltered() const {
    const auto ours = Filters("self");
    if (!ours) return;
    for (const std::string& program : kPrograms) {
      const std::vector<pid_t> pids = box_.Pids(program);
      EXPECT_FALSE(pids.empty()) << program;
      for (const pid_t pid : pids) EXPECT_EQ(Filters(std::to_string(pid)), *ours + 1) << program;
    }
  }
  void KillAll(const std::string& program) const { SignalAll(program, SIGKILL); }
  std::string KeeperLog() const { return ReadText(box_.JobFolder(Job()) / "keeper.log"); }
  size_t Starts() const { return CountLines(ReadText(box_.File("starts"))); }
  void ExpectSuccess() {
    const Ran ran = GoAndEnd(*client_);
    ExpectNothingLeft();
  }

  std::unique_ptr<Background> client_;
};

TEST_F(OldKernelTest, AGangIsRestartedAfterItsExecutorsWereKilled) {
  StartJob();
  KillAll("tony-executor");
  ASSERT_TRUE(WaitFor([&] { return Starts() == 4; })) << client_->err();
  ExpectSuccess();
  EXPECT_THAT(client_->err(), HasSubstr("restart 1 (gang)"));
}

TEST_F(OldKernelTest, TasksKeepRunningWhenMasterAndKeeperDie) {
  StartJob();
  KillAll("tony-keeper");
  KillAll("tony-am");
  ASSERT_TRUE(WaitFor([&] { return client_->err().find("(epoch 2)") != std::string::npos; })) << client_->err();
  ExpectSuccess();
  EXPECT_EQ(Starts(), 2u);
}

TEST_F(OldKernelTest, ANewKeeperDetectsTheDeathOfAnExecutorOfTheFormerKeeper) {
  StartJob();
  KillAll("tony-keeper");
  ASSERT_TRUE(WaitFor([&] { return Count(KeeperLog(), "adopted: pid") == 2; })) << client_->err() << KeeperLog();
  KillAll("tony-executor");
  ASSERT_TRUE(WaitFor([&] { return Starts() == 4; })) << client_->err() << KeeperLog();
  ExpectSuccess();
}

TEST_F(OldKernelTest, AKilledJobLeavesNoProcesses) {
  StartJob();
  EXPECT_EQ(StartOld({"kill", Job()})->Wait().exit, 0);
  Ends(*client_, 1);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace tony
