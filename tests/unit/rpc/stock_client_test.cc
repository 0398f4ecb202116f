// A stock Thrift client in Python calls our server, with code that the test generates from tony.thrift.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/net/tls.h"
#include "runtime/rpc/am_connection.h"
#include "tests/support/places.h"
#include "tests/support/rounds.h"
#include "tests/support/sanitized.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using SlowRpcTest = RpcFixture;

constexpr char kPython[] = "/usr/bin/python3";

class StockClientTest : public RpcFixture {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tony-rpc-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static pid_t Start(std::vector<std::string> command) {
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    return ::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) == 0 ? pid : -1;
  }
  static int Run(std::vector<std::string> command) {
    int status = -1;
    const pid_t pid = Start(std::move(command));
    if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::filesystem::path folder;
};

TEST_F(StockClientTest, APythonClientGeneratedByThriftCanCallTheServerAndReceiveRefusals) {
  if (Run({kPython, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('thrift') is None)"}) != 0) {
    GTEST_SKIP() << "needs " << kPython << " with the Thrift library (Debian: python3-thrift)";
  }
  ASSERT_EQ(Run({TONY_THRIFT_COMPILER, "--gen", "py", "-out", folder, SourceFolder() + "/runtime/rpc/tony.thrift"}), 0);
  service.job.job = {"local-1"};
  service.job.state = "RUNNING";
  service.job.seq = 12;
  StartServer();
  EventLoop::Timer later;
  service.on_await = [&](const Caller&, const Reply<Command>& reply) {
    later = loop.After(Duration(50), [reply] { reply.Success({9, Command::Kind::kStop, {1}, "", Duration(250)}); });
  };

  const pid_t pid =
      Start({kPython, "-B", SourceFolder() + "/tests/unit/rpc/stock_client.py", folder, Socket().string()});
  ASSERT_GT(pid, 0);
  int status = -1;
  EXPECT_TRUE(RunUntil([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(service.outcomes.size(), 1u);
  EXPECT_EQ(service.outcomes.front().stderr_tail, "Traceback: \xc3\xa4");
  EXPECT_EQ(service.kills.front().reason, "from Python");
  EXPECT_EQ(server->connections(), 0u);
}

// ---- Tests that take longer than a unit test may.

TEST_F(SlowRpcTest, StoppingTheServerDoesNotWaitForAPeerThatNeverReads) {
  StartServer();
  service.on_await = [](const Caller&, const Reply<Command>& reply) {
    reply.Success({1, Command::Kind::kStart, {1}, std::string(12 << 20, 's'), Duration(0)});
  };
  RawPeer deaf(Place());
  deaf.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return !service.calls.empty(); }));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(SlowRpcTest, AnswersOnOneConnectionMayTogetherExceedTheSizeLimitOfASingleAnswer) {
  service.job.job = {"local-1"};
  service.job.state = "RUNNING";
  service.job.name = std::string(8 << 20, 'n');
  StartServer();
  const auto am = MakeAmConnection(loop, temp.path(), std::chrono::seconds(10));
  am->Use(SocketName{"am.1.sock"});
  // The answers have 72 MiB together; a single one may have 64 MiB.
  for (int i = 0; i < 9; ++i) {
    std::optional<Answer<JobStatus>> status;
    am->GetStatus("secret", [&](const Answer<JobStatus>& given) { status = given; });
    ASSERT_TRUE(RunUntil([&] { return status.has_value(); }));
    EXPECT_TRUE(std::holds_alternative<JobStatus>(*status)) << "call " << i;
  }
}

// ---- More executors connect at once than the queue of a listening socket, or the limit for strangers, has room for.

// The queue holds net.core.somaxconn connections, 4096 by default. A TLS handshake takes both ends two milliseconds,
// and thirty times that with the thread sanitizer on a busy machine.
int CrowdBy(Transport transport) {
  if (transport != Transport::kTls) return 10'000;
  return kThreadSanitized ? 500 : std::max(500, Rounds(1'500));
}
RpcServerOptions Patient() {
  RpcServerOptions options;
  options.stranger_limit = std::chrono::minutes(1);
  return options;
}

class CrowdTest : public AnyTransport {
 protected:
  void SetUp() override {
    rlimit all{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &all), 0);
    const auto needed = static_cast<rlim_t>(crowd_ + 200);
    if (all.rlim_max < needed) GTEST_SKIP() << "needs " << needed << " open files (ulimit -Hn)";
    before_ = all;
    all.rlim_cur = all.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  }
  void TearDown() override {
    if (before_) ::setrlimit(RLIMIT_NOFILE, &*before_);
  }
  // Returns true if all executors could register. The caller runs it in a separate process. On a slow machine a few
  // executors may have to try again.
  bool RegisterAll() const {
    EventLoop own_loop;
    int registered = 0, failed = 0;
    std::vector<std::unique_ptr<AmConnection>> clients;
    const MakeChannel tls = *MakeTlsClient(TestCertificates().executor);
    const std::function<void(AmConnection&)> try_one = [&](AmConnection& client) {
      client.Register(SomeCaller(), SomeRegistration(), [&](const Answer<Epoch>& answer) {
        const bool heard = std::holds_alternative<Epoch>(answer);
        ++(heard ? registered : failed);
        if (registered == crowd_ || failed > 3 * crowd_) return own_loop.Stop();
        if (!heard) try_one(client);
      });
    };
    for (int i = 0; i < crowd_; ++i) {
      clients.push_back(MakeAmConnection(own_loop, temp.path(), std::chrono::minutes(5), tls));
      clients.back()->Use(server->addresses().front());
      try_one(*clients.back());
    }
    own_loop.Run();
    return registered == crowd_ && (transport == Transport::kTls || failed == 0);
  }

  const int crowd_ = CrowdBy(GetParam());

 private:
  std::optional<rlimit> before_;
};
FOR_ALL_TRANSPORTS(CrowdTest);

TEST_P(CrowdTest, AllExecutorsRegisterEvenIfTheServerAdmitsFewerConnectionsAtOnce) {
  StartServer(kSanitized ? Patient() : RpcServerOptions());
  const pid_t clients = fork();
  if (clients == 0) _exit(RegisterAll() ? 0 : 1);
  int status = -1;
  for (int tries = 0; tries < 10; ++tries)
    if (RunUntil([&] { return waitpid(clients, &status, WNOHANG) == clients; })) break;
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tony
