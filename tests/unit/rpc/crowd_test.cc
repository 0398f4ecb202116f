// More executors at once than a listening socket's queue has room for.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <vector>

#include "runtime/rpc/am_client.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using CrowdTest = RpcFixture;

// The queue holds net.core.somaxconn, 4096 by default. Both ends are in this process: two descriptors each.
constexpr int kCrowd = 6000;

TEST_F(CrowdTest, MoreThanTheQueueHoldsAreAllHeard) {
  rlimit before{}, all{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  all = before;
  all.rlim_cur = all.rlim_max;
  if (all.rlim_max < 2 * kCrowd + 200) GTEST_SKIP() << "needs " << 2 * kCrowd + 200 << " open files (ulimit -Hn)";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  StartServer();
  int registered = 0, failed = 0;
  std::vector<std::unique_ptr<AmClient>> clients;
  for (int i = 0; i < kCrowd; ++i) {
    clients.push_back(MakeThriftAmClient(loop, temp.path(), std::chrono::minutes(5)));
    clients.back()->Use(SocketName{"am.1.sock"});
    clients.back()->Register(SomeCaller(), SomeRegistration(), [&](const Answer<Epoch>& answer) {
      ++(std::holds_alternative<Epoch>(answer) ? registered : failed);
    });
  }
  for (int tries = 0; tries < 10 && registered + failed < kCrowd; ++tries)
    (void)RunUntil([&] { return registered + failed == kCrowd; });
  EXPECT_EQ(registered, kCrowd);
  EXPECT_EQ(failed, 0);
  clients.clear();
  server.reset();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace tony
