// More executors at once than a listening socket's queue has room for.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "runtime/rpc/am_connection.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

// The queue holds net.core.somaxconn, 4096 by default.
constexpr int kCrowd = 10'000;

class CrowdTest : public RpcFixture {
 protected:
  void SetUp() override {
    rlimit all{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &all), 0);
    if (all.rlim_max < kCrowd + 200) GTEST_SKIP() << "needs " << kCrowd + 200 << " open files (ulimit -Hn)";
    before_ = all;
    all.rlim_cur = all.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  }
  void TearDown() override {
    if (before_) ::setrlimit(RLIMIT_NOFILE, &*before_);
  }
  // Whether all were heard, in a process that has nothing else.
  bool RegisterAll() const {
    EventLoop own_loop;
    int registered = 0, failed = 0;
    std::vector<std::unique_ptr<AmConnection>> clients;
    for (int i = 0; i < kCrowd; ++i) {
      clients.push_back(MakeAmConnection(own_loop, temp.path(), std::chrono::minutes(5)));
      clients.back()->Use(SocketName{"am.1.sock"});
      clients.back()->Register(SomeCaller(), SomeRegistration(), [&](const Answer<Epoch>& answer) {
        ++(std::holds_alternative<Epoch>(answer) ? registered : failed);
        if (registered + failed == kCrowd) own_loop.Stop();
      });
    }
    own_loop.Run();
    return registered == kCrowd;
  }

 private:
  std::optional<rlimit> before_;
};

TEST_F(CrowdTest, MoreThanTheQueueHoldsAreAllHeard) {
  StartServer();
  const pid_t clients = fork();
  if (clients == 0) _exit(RegisterAll() ? 0 : 1);
  int status = -1;
  for (int tries = 0; tries < 10; ++tries)
    if (RunUntil([&] { return waitpid(clients, &status, WNOHANG) == clients; })) break;
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tony
