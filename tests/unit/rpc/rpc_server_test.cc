#include "runtime/rpc/rpc_server.h"

#include <gmock/gmock.h>

#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::ElementsAre;

using RpcServerTest = RpcFixture;

TEST_F(RpcServerTest, AParkedCallIsAnsweredLaterAndOthersMeanwhile) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  peer.Send(HeartbeatFrame(2));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
  ASSERT_EQ(service.parked.size(), 1u);

  service.parked.front().Success({9, Command::Kind::kStart, {1}, "{}", Duration(0)});
  const std::string frame = ReadFrame(peer);
  EXPECT_EQ(ParseAnswer(frame).header.seq, 1);
  EXPECT_EQ(ParseResult<rpc::ExecutorService_Await_result>(frame).success.number, 9);
  EXPECT_EQ(service.abandoned, 0);
}

TEST_F(RpcServerTest, ParkedCallsAreAnsweredInAnyOrder) {
  StartServer();
  RawPeer peer(Place());
  for (const int seq : {1, 2, 3}) peer.Send(AwaitFrame(seq));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  for (const int index : {2, 0, 1}) service.parked[index].Success({});
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 3);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
}

TEST_F(RpcServerTest, CallsSentTogetherAreAllAnswered) {
  StartServer();
  RawPeer peer(Place());
  std::string together;
  for (int seq = 0; seq < 500; ++seq) together += HeartbeatFrame(seq);
  peer.Send(together);
  for (int seq = 0; seq < 500; ++seq) ASSERT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, seq);
}

TEST_F(RpcServerTest, ARefusalNamesItsReason) {
  StartServer();
  service.token = "another";
  rpc::ExecutorService_Register_args args;
  args.caller = ToThrift(SomeCaller());
  args.registration = ToThrift(SomeRegistration());
  RawPeer peer(Place());
  peer.Send(WriteMessage({"Register", apache::thrift::protocol::T_CALL, 1}, args));
  const auto result = ParseResult<rpc::ExecutorService_Register_result>(ReadFrame(peer));
  EXPECT_FALSE(result.__isset.success);
  EXPECT_EQ(result.refused.reason, rpc::BAD_TOKEN);
}

TEST_F(RpcServerTest, AClientThatVanishesAbandonsItsParkedCalls) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1) + AwaitFrame(2));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2; }));
  peer.Vanish();
  EXPECT_TRUE(RunUntil([&] { return service.abandoned == 2; }));
  EXPECT_EQ(server->connections(), 0u);
  service.parked.front().Success({});  // lost, silently
  ExpectAlive();
}

TEST_F(RpcServerTest, AnAbandonedCallTellsWhoeverAsksLate) {
  StartServer();
  service.on_await = [&](const Caller&, const Reply<Command>& reply) { service.parked.push_back(reply); };
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  peer.Vanish();
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 0; }));
  bool told = false;
  service.parked.front().OnAbandoned([&] { told = true; });
  EXPECT_FALSE(told);
  EXPECT_TRUE(RunUntil([&] { return told; }));
}

TEST_F(RpcServerTest, WhatIsAbandonedMayDropItsOwnReply) {
  StartServer();
  service.on_await = [&](const Caller&, const Reply<Command>& reply) {
    service.parked.push_back(reply);
    reply.OnAbandoned([&] { service.parked.clear(); });
  };
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1) + AwaitFrame(2) + AwaitFrame(3));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  peer.Vanish();
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 0; }));
  EXPECT_TRUE(service.parked.empty());
}

TEST_F(RpcServerTest, AReplyDroppedWithoutAnAnswerClosesTheConnection) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  service.parked.clear();
  EXPECT_TRUE(RunUntil([&] { return peer.closed(); }));
  EXPECT_EQ(service.abandoned, 0);
  ExpectAlive();
}

TEST_F(RpcServerTest, StopSendsAnswersAbandonsCallsAndClosesConnections) {
  StartServer();
  RawPeer parked(Place());
  RawPeer idle(Place());
  parked.Send(AwaitFrame(1) + AwaitFrame(2));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2 && server->connections() == 2; }));

  service.parked.front().Success({4, Command::Kind::kRelease, {}, "", Duration(0)});
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  EXPECT_FALSE(stopped);
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
  EXPECT_EQ(service.abandoned, 1);
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_EQ(ParseAnswer(ReadFrame(parked)).header.seq, 1);
  EXPECT_TRUE(parked.closed());
  EXPECT_TRUE(idle.closed());
}

TEST_F(RpcServerTest, StopWaitsForALargeAnswerToBeSent) {
  StartServer();
  const std::string spec(8 << 20, 's');
  service.on_await = [&](const Caller&, const Reply<Command>& reply) {
    reply.Success({1, Command::Kind::kStart, {1}, spec, Duration(0)});
  };
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return !service.calls.empty(); }));
  bool stopped = false;
  server->Stop([&] { stopped = true; });
  EXPECT_TRUE(ParseResult<rpc::ExecutorService_Await_result>(ReadFrame(peer)).success.cluster_spec == spec);
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
}

TEST_F(RpcServerTest, StopTwiceTellsBothAndTheServerMayBeDestroyedThen) {
  StartServer();
  RawPeer peer(Place());
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  int stopped = 0;
  server->Stop([&] { server.reset(), ++stopped; });
  server->Stop([&] { ++stopped; });
  EXPECT_TRUE(RunUntil([&] { return stopped == 2; }));
}

TEST_F(RpcServerTest, AServiceMayStopTheServerInsideACall) {
  StartServer();
  bool stopped = false;
  service.before_heartbeat = [&] { server->Stop([&] { stopped = true; }); };
  RawPeer peer(Place());
  peer.Send(HeartbeatFrame(1) + HeartbeatFrame(2));
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
  EXPECT_THAT(service.calls, ElementsAre("Heartbeat"));
  EXPECT_TRUE(peer.closed());
}

TEST_F(RpcServerTest, DestroyingTheServerAbandonsWhatIsOpen) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  server.reset();
  EXPECT_EQ(service.abandoned, 1);
  EXPECT_TRUE(peer.closed());
  service.parked.front().Success({});
}

}  // namespace
}  // namespace tony
