// Executors run attempt after attempt of programs that leave daemons, and each attempt searches for the daemons of all
// earlier attempts. The program tony-executor talks to a real RPC server, where the test plays the AM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "executor/events.h"
#include "runtime/base/strings.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/files.h"
#include "runtime/os/process_tree.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/rpc_server.h"
#include "tests/support/places.h"
#include "tests/support/rough_daemon.h"
#include "tests/support/rounds.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"

namespace tony::executor {
namespace {

constexpr int kTasks = 4;
const std::string kToken(64, 'a');

// Starts attempt after attempt of each task that registers, and releases the executor after the last attempt.
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
  void Kill(const std::string&, const KillRequest&, Reply<KillReply>) override {}
  void Attach(const std::string&, const Claim&, Reply<AttachReply>) override {}
  void ReadLogs(const std::string&, const LogQuery&, Reply<LogAnswer>) override {}
  void PushTokens(const std::string&, const ClusterTokens&, Reply<TokensReply>) override {}

  std::map<AttemptId, Outcome> outcomes;

 private:
  struct Task {
    Endpoint endpoint;
    bool reported = false;  // the current attempt was reported
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

  // Writes a job whose attempts each check for daemons of earlier attempts and leave a daemon of their own.
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

TEST_P(ExecutorDaemonsTest, NoDaemonOfAnEarlierAttemptIsAliveWhenTheNextAttemptBegins) {
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
