// Bytes from hostile peers, or from peers that do not speak Thrift: each peer closes its own connection and no other.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

class HostilePeerTest : public AnyTransport {
 protected:
  void SetUp() override {
    StartServer();
    bystander = std::make_unique<RawPeer>(Place());
    bystander->Send(AwaitFrame(1));
    ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  }
  void ExpectOnlyThisOneIsClosed(RawPeer& hostile) {
    EXPECT_TRUE(RunUntil([&] { return hostile.closed(); }));
    EXPECT_TRUE(RunUntil([&] { return server->connections() == 1u; })) << "its end may be seen before ours is gone";
    EXPECT_EQ(service.abandoned, 0);
    service.parked.front().Success({3, Command::Kind::kStop, {}, "", Duration(0)});
    EXPECT_EQ(ParseAnswer(ReadFrame(*bystander)).header.seq, 1);
  }
  void ExpectClosedAfter(std::string_view bytes) {
    RawPeer hostile(Place());
    hostile.Send(bytes);
    ExpectOnlyThisOneIsClosed(hostile);
  }
  void ExpectClosedAfterFrame(std::string_view payload) {
    RawPeer hostile(Place());
    hostile.SendFrame(payload);
    ExpectOnlyThisOneIsClosed(hostile);
  }

  std::unique_ptr<RawPeer> bystander;
};

FOR_ALL_TRANSPORTS(HostilePeerTest);

TEST_P(HostilePeerTest, AnHttpRequestClosesItsConnection) {
  ExpectClosedAfter("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
}
TEST_P(HostilePeerTest, BinaryGarbageClosesItsConnection) { ExpectClosedAfter("\x16\x03\x01\x02garbage of some kind"); }
TEST_P(HostilePeerTest, GarbageInAFrameClosesItsConnection) {
  ExpectClosedAfterFrame("garbage garbage garbage garbage");
}
TEST_P(HostilePeerTest, AnEmptyFrameClosesItsConnection) { ExpectClosedAfter(std::string_view("\0\0\0\0", 4)); }
TEST_P(HostilePeerTest, ATwoGigabyteFrameClosesItsConnection) { ExpectClosedAfter("\x7f\xff\xff\xff"); }
TEST_P(HostilePeerTest, AnOversizedFrameClosesItsConnection) {
  ExpectClosedAfter(std::string_view("\x00\x40\x00\x01", 4));
}
TEST_P(HostilePeerTest, AnAnswerInsteadOfACallClosesItsConnection) {
  ExpectClosedAfter(EmptyCallFrame("Heartbeat", 1, apache::thrift::protocol::T_REPLY));
}
TEST_P(HostilePeerTest, ACallWithTruncatedArgumentsClosesItsConnection) {
  const std::string frame = HeartbeatFrame(1);
  ExpectClosedAfterFrame(Payload(frame).substr(0, frame.size() - 20));
}
TEST_P(HostilePeerTest, ALongMethodNameClosesItsConnection) {
  ExpectClosedAfter(EmptyCallFrame(std::string(1 << 10, 'm'), 1));
}

TEST_P(HostilePeerTest, AFrameWithAHugeStringLengthClosesItsConnection) {
  std::string payload(Payload(HeartbeatFrame(1)));
  payload[payload.find("local-1") - 4] = '\x7f';
  ExpectClosedAfterFrame(payload);
}

TEST_P(HostilePeerTest, AnUnfinishedFrameIsDiscardedWhenThePeerDisconnects) {
  RawPeer hostile(Place());
  const std::string frame = HeartbeatFrame(1);
  hostile.Send(std::string_view(frame).substr(0, frame.size() / 2));
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 2; }));
  hostile.Vanish();
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  EXPECT_EQ(service.calls.size(), 1u);
}

TEST_P(HostilePeerTest, AFrameSentByteByByteIsAnswered) {
  RawPeer slow(Place());
  for (const char byte : HeartbeatFrame(5)) {
    slow.Send({&byte, 1});
    bool turned = false;
    loop.Post([&] { turned = true; });
    ASSERT_TRUE(RunUntil([&] { return turned; }));
  }
  EXPECT_EQ(ParseAnswer(ReadFrame(slow)).header.seq, 5);
}

TEST_P(HostilePeerTest, AnUnknownMethodGetsAnExceptionAndTheConnectionStaysOpen) {
  RawPeer peer(Place());
  peer.Send(EmptyCallFrame("Explode", 1) + HeartbeatFrame(2));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).exception, "unknown method Explode");
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
}

TEST_P(HostilePeerTest, AnExceptionThrownByTheServiceIsSentAndTheConnectionStaysOpen) {
  RawPeer peer(Place());
  service.before_heartbeat = [] { throw std::runtime_error("boom"); };
  peer.Send(HeartbeatFrame(1));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).exception, "boom");
  service.before_heartbeat = nullptr;
  peer.Send(HeartbeatFrame(2));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
}

TEST_P(HostilePeerTest, FrameLengthsAnnouncedBy60PeersAllocateNoMemoryBeforeTheBytesArrive) {
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 60; ++i) {
    peers.push_back(std::make_unique<RawPeer>(Place()));
    peers.back()->Send(HeartbeatFrame(1) + std::string("\x00\x04\x00\x00", 4) + std::string(100, 'x'));
  }
  ASSERT_TRUE(RunUntil([&] { return service.calls.size() == 61; }));
  // Both ends of each connection are in this process.
  const size_t of_tls = transport == Transport::kTls ? 60 * 2 * (20 << 10) : 0;
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, before + (1 << 20) + of_tls);
  ExpectAlive();
}

}  // namespace
}  // namespace tony
