// Tests the program tony-executor with a real RPC server, where the test plays the AM.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "executor/task_run.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/rpc_server.h"
#include "tests/support/places.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/executor/scripted_am.h"

namespace tony::executor {
namespace {

class ExecutorProgramTest : public testing::Test {
 protected:
  ExecutorProgramTest() { BecomeSubreaper(); }
  ~ExecutorProgramTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  void Make(const std::string& command) {
    JobSpec spec;
    spec.framework = FrameworkKind::kStandalone;
    spec.roles = {{.name = "worker", .command = command}};
    ASSERT_TRUE(MakeFolder(records_.place() / "src").ok());
    ASSERT_TRUE(WriteNewFile(records_.place() / "spec.json", ToJson(spec), false).ok());
    ASSERT_TRUE(WriteNewFile(records_.place() / "token", std::string(64, 'a'), false).ok());
  }

  void Rule(ScriptedAm& am, int64_t epoch) {
    auto server = StartRpcServer(loop_, {.folder = records_.place(), .at = {SocketOf({epoch})}}, am);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
    ASSERT_TRUE(records_.WriteLease({{epoch}, {SocketOf({epoch})}, 1}).ok());
  }

  // Starts the program. The returned exit status is set once the program has ended.
  std::shared_ptr<std::optional<ExitStatus>> Launch(const std::vector<std::string>& arguments) {
    auto exit = std::make_shared<std::optional<ExitStatus>>();
    std::vector<std::string> argv = {ProgramFolder() + "/tony-executor"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto pid = processes_.Start({.argv = argv,
                                       .env = {"PATH=/usr/bin:/bin"},
                                       .directory = "/",
                                       .stderr_file = (temp_.path() / "executor.log").string()},
                                      [exit](ExitStatus status) { *exit = status; });
    EXPECT_TRUE(pid.ok());
    launched_ = pid.ok() ? *pid : 0;
    return exit;
  }
  std::shared_ptr<std::optional<ExitStatus>> LaunchAttempt() {
    return Launch({records_.place().string(), "worker:0", "1", "c-1", kLoopback});
  }
  bool Until(const std::function<bool()>& condition) { return RunUntil(loop_, condition); }
  static ExitStatus Exited(int code) { return {ExitStatus::Kind::kExited, code}; }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords(temp_.path() / "job-1");
  EventLoop loop_;
  BoostProcessRunner processes_{loop_};
  std::unique_ptr<RpcServer> server_;
  pid_t launched_ = 0;
};

TEST_F(ExecutorProgramTest, AnExecutorReportsTheOutcomeOfItsTaskAndExitsWhenTheAmReleasesTheExecutor) {
  Make("echo out; echo $TONY_TASK >&2; exit 3");
  ScriptedAm am({1});
  Rule(am, 1);
  const auto exit = LaunchAttempt();
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(kLeftReleased));
  ASSERT_EQ(am.outcomes.size(), 1u);
  EXPECT_EQ(am.outcomes[0].cls, OutcomeClass::kUserError);
  EXPECT_EQ(am.outcomes[0].exit, Exited(3));
  EXPECT_EQ(am.outcomes[0].stderr_tail, "worker:0\n");
  EXPECT_EQ(*ReadFile(AttemptFolder(records_.place(), {{"worker", 0}, 1}).logs / "stdout"), "out\n");
}

TEST_F(ExecutorProgramTest, ATaskKeepsRunningWhenItsAmIsReplaced) {
  Make("while [ ! -e go ]; do sleep 0.02; done");
  ScriptedAm first({1}), second({2});
  Rule(first, 1);
  const auto exit = LaunchAttempt();
  ASSERT_TRUE(Until([&] { return !first.heartbeats.empty() && first.heartbeats.back().pid != 0; }));
  server_ = nullptr;
  Rule(second, 2);
  ASSERT_TRUE(Until([&] { return !second.registered.empty(); }));
  EXPECT_EQ(second.registered[0].phase, Phase::kRunning);
  EXPECT_EQ(second.registered[0].pid, first.heartbeats.back().pid);
  ASSERT_TRUE(WriteNewFile(AttemptFolder(records_.place(), {{"worker", 0}, 1}).work / "go", "", false).ok());
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(kLeftReleased));
  ASSERT_EQ(second.outcomes.size(), 1u);
  EXPECT_EQ(second.outcomes[0].exit, Exited(0));
}

TEST_F(ExecutorProgramTest, ASecondExecutorForTheSameAttemptExitsAtOnce) {
  Make("sleep 1000");
  ScriptedAm am({1});
  Rule(am, 1);
  const auto first = LaunchAttempt();
  const pid_t first_pid = launched_;
  ASSERT_TRUE(Until([&] { return !am.heartbeats.empty(); }));
  const auto second = LaunchAttempt();
  ASSERT_TRUE(Until([&] { return second->has_value(); }));
  EXPECT_EQ(**second, Exited(75));
  kill(first_pid, SIGTERM);
  ASSERT_TRUE(Until([&] { return first->has_value(); }));
  EXPECT_EQ(**first, Exited(kLeftTerminated));
}

TEST_F(ExecutorProgramTest, ACommandLineWithAnInvalidTaskNameIsAUsageError) {
  const auto exit = Launch({"/nowhere", "worker", "1", "c-1", kLoopback});
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(64));
}

}  // namespace
}  // namespace tony::executor
