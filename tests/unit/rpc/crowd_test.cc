// More executors at once than a listening socket's queue, or the server's patience with strangers, has room for.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/net/tls.h"
#include "runtime/rpc/am_connection.h"
#include "tests/support/rounds.h"
#include "tests/support/sanitized.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

// The queue holds net.core.somaxconn, 4096 by default. A handshake of TLS takes both ends two milliseconds, and those of the
// thread sanitizer on a busy machine thirty times that.
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
  // Whether all were heard, in a process that has nothing else. On a slow machine a few may have to try again.
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

TEST_P(CrowdTest, MoreThanTheQueueHoldsAreAllHeard) {
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
