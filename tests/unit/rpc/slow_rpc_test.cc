// What takes longer than a unit test may.
#include <gmock/gmock.h>

#include "runtime/rpc/am_connection.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using SlowRpcTest = RpcFixture;

TEST_F(SlowRpcTest, StopDoesNotWaitForAPeerThatNeverReads) {
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

TEST_F(SlowRpcTest, AllAnswersOfAConnectionTogetherMayBeLargerThanOneMayBe) {
  service.job.job = {"local-1"};
  service.job.state = "RUNNING";
  service.job.name = std::string(8 << 20, 'n');
  StartServer();
  const auto am = MakeAmConnection(loop, temp.path(), std::chrono::seconds(10));
  am->Use(SocketName{"am.1.sock"});
  for (int i = 0; i < 9; ++i) {  // 72 MiB; one may have 64
    std::optional<Answer<JobStatus>> status;
    am->GetStatus("secret", [&](const Answer<JobStatus>& given) { status = given; });
    ASSERT_TRUE(RunUntil([&] { return status.has_value(); }));
    EXPECT_TRUE(std::holds_alternative<JobStatus>(*status)) << "call " << i;
  }
}

}  // namespace
}  // namespace tony
