// Strangers are peers that have not shown the job's token yet: they get few resources and little time. Other tests are
// about the limits for all peers together.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <deque>
#include <memory>

#include "ClientService.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using apache::thrift::protocol::T_CALL;

std::string OutcomeFrame(int32_t seq, size_t size) {
  rpc::ExecutorService_ReportOutcome_args args;
  args.caller = ToThrift(SomeCaller());
  args.outcome = ToThrift(Outcome{OutcomeClass::kUserError, std::nullopt, "", std::string(size, 'x')});
  return WriteMessage({"ReportOutcome", T_CALL, seq}, args);
}

std::string KillFrame(int32_t seq) {
  rpc::ClientService_Kill_args args;
  args.token = "secret";
  args.reason = "enough";
  return WriteMessage({"Kill", T_CALL, seq}, args);
}

class StrangerTest : public AnyTransport {
 protected:
  std::unique_ptr<RawPeer> Known() {
    auto peer = std::make_unique<RawPeer>(Place());
    peer->Send(HeartbeatFrame(1));
    EXPECT_EQ(ParseAnswer(ReadFrame(*peer)).header.seq, 1);
    return peer;
  }
};

FOR_ALL_TRANSPORTS(StrangerTest);
using SocketStrangerTest = RpcFixture;

TEST_F(SocketStrangerTest, TheLargestRegisterCallFitsIntoTheFrameLimitForUnauthenticatedPeers) {
  Caller caller = SomeCaller();
  caller.job.value = caller.container.value = std::string(255, 'j');
  caller.attempt.task.role = std::string(64, 'r');
  rpc::ExecutorService_Register_args args;
  args.caller = ToThrift(caller);
  args.caller.token = std::string(255, 't');
  Registration what = {{std::string(255, 'h'), 65535}, Phase::kRunning, 1 << 30};
  for (size_t i = 10; what.ports.size() < kMostNamedPorts; ++i)
    what.ports[std::string(30, 'p') + std::to_string(i)] = 65535;
  args.registration = ToThrift(what);
  EXPECT_LT(WriteMessage({"Register", T_CALL, 1}, args).size(), RpcServerOptions().stranger_frame);
}

TEST_P(StrangerTest, AFrameOf10000BytesBeforeAuthenticationClosesTheConnection) {
  StartServer();
  RawPeer stranger(Place());
  stranger.Send(OutcomeFrame(1, 10'000));
  EXPECT_TRUE(RunUntil([&] { return stranger.closed(); }));
  EXPECT_THAT(service.outcomes, testing::IsEmpty());
}

TEST_P(StrangerTest, AFrameOf60000BytesIsAcceptedAfterACallWithTheRightToken) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(HeartbeatFrame(1) + OutcomeFrame(2, 60'000));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
  EXPECT_EQ(service.outcomes.size(), 1u);
}

TEST_P(StrangerTest, AFrameOf10000BytesAfterACallWithAWrongTokenClosesTheConnection) {
  StartServer();
  service.token = "another";
  RawPeer peer(Place());
  peer.Send(HeartbeatFrame(1));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  peer.Send(OutcomeFrame(2, 10'000));
  EXPECT_TRUE(RunUntil([&] { return peer.closed(); }));
}

// A comparison of only the first characters once passed every test.
TEST_P(StrangerTest, ATokenWithOnlyACorrectPrefixIsRefused) {
  StartServer();
  const std::string token = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  service.token = token;
  for (const std::string& guess : {token.substr(0, 63) + "0", token.substr(0, 16) + std::string(48, '0'),
                                   token.substr(0, 63), token + "0", std::string()}) {
    rpc::ClientService_GetStatus_args args;
    args.token = guess;
    RawPeer peer(Place());
    peer.Send(WriteMessage({"GetStatus", T_CALL, 1}, args));
    EXPECT_EQ(ParseResult<rpc::ClientService_GetStatus_result>(ReadFrame(peer)).refused.reason, rpc::BAD_TOKEN)
        << guess;
  }
}

TEST_P(StrangerTest, ASilentPeerTimesOutOnlyIfThePeerIsUnauthenticated) {
  StartServer({.stranger_limit = Duration(50)});
  const auto known = Known();
  RawPeer silent(Place());
  RawPeer half(Place());
  half.Send(std::string_view(HeartbeatFrame(1)).substr(0, 30));
  EXPECT_TRUE(RunUntil([&] { return silent.closed(); }));
  EXPECT_TRUE(RunUntil([&] { return half.closed(); }));
  known->Send(HeartbeatFrame(2));
  EXPECT_EQ(ParseAnswer(ReadFrame(*known)).header.seq, 2);
}

TEST_P(StrangerTest, ANewPeerAboveMaxStrangersReplacesTheOldestUnauthenticatedPeer) {
  StartServer({.max_strangers = 2});
  const auto known = Known();
  std::deque<RawPeer> strangers;
  for (size_t i = 0; i < 2; ++i) {
    strangers.emplace_back(Place());
    ASSERT_TRUE(RunUntil([&] { return server->connections() == 2 + i; }));
  }
  strangers.emplace_back(Place());
  EXPECT_TRUE(RunUntil([&] { return strangers[0].closed(); }));
  EXPECT_FALSE(strangers[1].closed());
  EXPECT_FALSE(strangers[2].closed());
  EXPECT_EQ(server->connections(), 3u);
}

TEST_P(StrangerTest, AFullServerDropsUnauthenticatedPeersBeforeIdlePeersAndNeverPeersWithOpenCalls) {
  StartServer({.max_connections = 3});
  RawPeer awaiting(Place());
  awaiting.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  const auto idle = Known();
  RawPeer stranger(Place());
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 3; }));
  const auto first = Known();
  EXPECT_TRUE(stranger.closed());
  EXPECT_FALSE(idle->closed());
  first->Send(AwaitFrame(2));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2; }));
  const auto second = Known();
  EXPECT_TRUE(idle->closed());
  EXPECT_FALSE(awaiting.closed());
  EXPECT_FALSE(first->closed());
  second->Send(AwaitFrame(2));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  RawPeer refused(Place());
  EXPECT_TRUE(RunUntil([&] { return refused.closed(); }));
  EXPECT_EQ(service.abandoned, 0);
}

TEST_P(StrangerTest, UnfinishedFramesOfAllPeersTogetherAreLimitedToMaxPartialBytes) {
  StartServer({.max_partial = 300'000});
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(Known());
    peers.back()->Send(std::string("\x00\x02\x00\x00", 4) + std::string(50'000, 'x'));
  }
  EXPECT_TRUE(RunUntil([&] { return server->connections() < 10; }));
  EXPECT_GT(server->connections(), 1u);
  peers.clear();
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 0; }));
  // The memory of the closed connections is free again.
  const auto again = Known();
  again->Send(OutcomeFrame(2, 60'000));
  EXPECT_EQ(ParseAnswer(ReadFrame(*again)).header.seq, 2);
}

TEST_F(SocketStrangerTest, AKillByTheJobsOwnUserHasAnEmptySenderName) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(KillFrame(1));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  ASSERT_EQ(service.kills.size(), 1u);
  EXPECT_EQ(service.kills[0].asker, "");
}

TEST_F(SocketStrangerTest, AStoppedServerRemovesItsSocketFile) {
  StartServer();
  EXPECT_TRUE(std::filesystem::exists(Socket()));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  EXPECT_FALSE(std::filesystem::exists(Socket()));
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
}

TEST_F(SocketStrangerTest, AServerCanListenOnAUnixSocketAndATcpPortAtTheSameTime) {
  StartServer({.at = {SocketName{"am.1.sock"}, Endpoint{"127.0.0.1", 0}}});
  ASSERT_EQ(server->addresses().size(), 2u);
  EXPECT_EQ(server->addresses().front(), Address(SocketName{"am.1.sock"}));
  EXPECT_GT(std::get<Endpoint>(server->addresses().back()).port, 0);
  ExpectAlive();
}

}  // namespace
}  // namespace tony
