// The program tony-executor against a real RPC server, whose AM the test plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "executor/events.h"
#include "executor/task_run.h"
#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/attempt_folder.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/rpc_server.h"
#include "tests/support/places.h"
#include "tests/support/rough_daemon.h"
#include "tests/support/rounds.h"
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

  // The program's exit, once it has ended.
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

TEST_F(ExecutorProgramTest, RunsATaskFromRegistrationToRelease) {
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

TEST_F(ExecutorProgramTest, TheTaskDoesNotNoticeThatTheAmWasReplaced) {
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

TEST_F(ExecutorProgramTest, ASecondExecutorOfAnAttemptLeavesAtOnce) {
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

TEST_F(ExecutorProgramTest, AWrongCommandLineIsAUsageError) {
  const auto exit = Launch({"/nowhere", "worker", "1", "c-1", kLoopback});
  ASSERT_TRUE(Until([&] { return exit->has_value(); }));
  EXPECT_EQ(**exit, Exited(64));
}

// ---- Executors that run attempt after attempt of programs that leave daemons, each attempt looking for those of all before
// it: the program tony-executor against a real RPC server, whose AM the test plays.

constexpr int kTasks = 4;
const std::string kToken(64, 'a');

// Starts attempt after attempt of each task that registers, and releases it after the last.
class RepeatingAm : public AmService {
 public:
  explicit RepeatingAm(int attempts) : attempts_(attempts) {}

  bool Knows(const std::string& token) const override { return token == kToken; }
  void Register(const Caller& caller, const Registration& what, Reply<Epoch> reply) override {
    Task& task = tasks_[caller.attempt.task];
    task.endpoint = what.endpoint;
    task.reported = false;
    task.parked.clear();
    reply.Success({1});
  }
  void Await(const Caller& caller, int64_t since, Reply<Command> reply) override {
    Task& task = tasks_[caller.attempt.task];
    if (since < 1) {
      const ClusterSpec cluster{{1}, {{"worker", {kTasks, task.endpoint}}}};
      return reply.Success(
          {.number = 1, .kind = Command::Kind::kStart, .generation = {1}, .cluster_spec = ToJson(cluster)});
    }
    task.parked.push_back(reply);
    GoOn(caller.attempt);
  }
  void Heartbeat(const Caller&, const Progress&, Reply<std::monostate> reply) override { reply.Success({}); }
  void Publish(const Caller&, const PublishedValues&, Reply<std::monostate>) override {}
  void ReportOutcome(const Caller& caller, const AttemptReport& report, Reply<std::monostate> reply) override {
    outcomes[caller.attempt] = report.outcome;
    tasks_[caller.attempt.task].reported = true;
    reply.Success({});
    GoOn(caller.attempt);
  }
  void SendLog(const Caller&, int64_t, std::vector<LogNews>, Reply<std::monostate>) override {}
  void GetStatus(const std::string&, Reply<StatusAnswer>) override {}
  void Watch(const std::string&, int64_t, Duration, const WatcherToken&, Reply<StatusAnswer>) override {}
  void Kill(const std::string&, const KillRequest&, Reply<StatusAnswer>) override {}
  void KillIf(const std::string&, const KillRequest&, Reply<KillReply>) override {}
  void Attach(const std::string&, const Claim&, Reply<AttachReply>) override {}
  void ReadLogs(const std::string&, const LogQuery&, Reply<LogAnswer>) override {}

  std::map<AttemptId, Outcome> outcomes;

 private:
  struct Task {
    Endpoint endpoint;
    bool reported = false;  // the attempt at hand
    std::vector<Reply<Command>> parked;
  };

  void GoOn(const AttemptId& attempt) {
    Task& task = tasks_[attempt.task];
    if (!task.reported) return;
    Command command{.number = 2, .kind = Command::Kind::kRelease};
    if (attempt.number < attempts_)
      command = {2, Command::Kind::kNext, {1}, "", Duration{0}, attempt.number + 1, "", ""};
    for (const auto& reply : std::exchange(task.parked, {})) reply.Success(command);
  }

  const int attempts_;
  std::map<TaskId, Task> tasks_;
};

class ExecutorDaemonsTest : public testing::TestWithParam<std::string> {
 protected:
  ExecutorDaemonsTest() { BecomeSubreaper(); }
  ~ExecutorDaemonsTest() override { SignalAll(Descendants(getpid()), SIGKILL); }

  // Each attempt looks for daemons of those before it, and leaves one of its own.
  void Make(const std::string& kind) {
    const std::string locks = (temp_.path() / "locks").string();
    ASSERT_TRUE(MakeFolder(locks).ok());
    JobSpec spec;
    spec.framework = FrameworkKind::kStandalone;
    const std::string own = StrCat(locks, "/$TASK_INDEX");
    spec.roles = {
        {.name = "worker",
         .instances = kTasks,
         .command = StrCat("mkdir -p ", own, "; ", TestProgram("rough_daemon"), " check ", own, " || exit 9; ",
                           TestProgram("rough_daemon"), " ", kind, " ", own, "/$TONY_ATTEMPT || exit 8; exit 1")}};
    ASSERT_TRUE(MakeFolder(records_.place() / "src").ok());
    ASSERT_TRUE(WriteNewFile(records_.place() / "spec.json", ToJson(spec), false).ok());
    ASSERT_TRUE(WriteNewFile(records_.place() / "token", kToken, false).ok());
  }

  void Run(RepeatingAm& am, Duration limit) {
    auto server = StartRpcServer(loop_, {.folder = records_.place(), .at = {SocketOf({1})}}, am);
    ASSERT_TRUE(server.ok()) << server.error().message;
    ASSERT_TRUE(records_.WriteLease({{1}, {SocketOf({1})}, 1}).ok());
    int ended = 0;
    for (int i = 0; i < kTasks; ++i) {
      const auto started = processes_.Start({.argv = {ProgramFolder() + "/tony-executor", records_.place().string(),
                                                      StrCat("worker:", i), "1", "c-1", kLoopback},
                                             .env = {"PATH=/usr/bin:/bin"},
                                             .directory = "/",
                                             .stderr_file = (temp_.path() / StrCat("log", i)).string()},
                                            [&](ExitStatus status) {
                                              EXPECT_EQ(status, (ExitStatus{ExitStatus::Kind::kExited, kLeftReleased}));
                                              ++ended;
                                            });
      ASSERT_TRUE(started.ok());
    }
    EXPECT_TRUE(RunUntil(
        loop_, [&] { return ended == kTasks; }, limit));
  }

  TempFolder temp_;
  JobRecords records_ = LocalJobRecords(temp_.path() / "job-1");
  EventLoop loop_;
  BoostProcessRunner processes_{loop_};
};

TEST_P(ExecutorDaemonsTest, NoneLivesWhenTheNextAttemptBegins) {
  const int attempts = GetParam() == "refork" ? Rounds(100) : 10;
  Make(GetParam());
  RepeatingAm am(attempts);
  Run(am, std::chrono::seconds(60));
  EXPECT_EQ(am.outcomes.size(), size_t{kTasks} * attempts);
  int alive = 0, failed = 0;
  for (const auto& [attempt, outcome] : am.outcomes) {
    alive += outcome.exit == ExitStatus{ExitStatus::Kind::kExited, 9};
    failed += outcome.exit == ExitStatus{ExitStatus::Kind::kExited, 8};
  }
  EXPECT_EQ(alive, 0) << "attempts that found a daemon of one before";
  EXPECT_EQ(failed, 0) << "attempts whose daemon did not come up";
}

INSTANTIATE_TEST_SUITE_P(Kinds, ExecutorDaemonsTest, testing::ValuesIn(RoughKinds()),
                         [](const auto& test) { return RoughName(test.param); });

}  // namespace
}  // namespace tony::executor
