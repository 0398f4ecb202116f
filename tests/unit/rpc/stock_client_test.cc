// A stock Thrift client of another language, with code generated from tony.thrift by the test, talks to our server.
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/places.h"
#include "tests/unit/rpc/rpc_fixture.h"

extern char** environ;

namespace tony {
namespace {

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

TEST_F(StockClientTest, PythonRegistersAwaitsReportsAndIsRefused) {
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

}  // namespace
}  // namespace tony
