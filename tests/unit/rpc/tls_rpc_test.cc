// An AM at a TCP port, with peers that are not executors of its job; and executors, with peers that are not their AM.
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <deque>

#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "runtime/rpc/am_connection.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// A plain TCP connection.
class TcpPeer {
 public:
  explicit TcpPeer(const Address& at) : socket_(*StartConnect(std::get<Endpoint>(at))) {
    pollfd connected{socket_.get(), POLLOUT, 0};
    EXPECT_EQ(::poll(&connected, 1, 10'000), 1);
  }
  void Send(std::string_view bytes) { (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  bool closed() const {
    char chunk[4096];
    const ssize_t got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

 private:
  UniqueFd socket_;
};

class TlsRpcTest : public RpcFixture {
 protected:
  TlsRpcTest() : RpcFixture(Transport::kTls) {}
  // Returns the answer to a heartbeat with `identity`, by default that of the job's executor.
  Answer<Acknowledged> HeartbeatNow(const Address& am, const TlsIdentity& identity = TestCertificates().executor) {
    const auto client = MakeAmConnection(loop, temp.path(), std::chrono::seconds(5), *MakeTlsClient(identity));
    client->Use(am);
    std::optional<Answer<Acknowledged>> answer;
    client->Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [&](const Answer<Acknowledged>& given) { answer = given; });
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    return answer.value_or(Acknowledged{});
  }
  static Disconnected DisconnectedIn(const Answer<Acknowledged>& answer) {
    const auto* why = std::get_if<Disconnected>(&answer);
    return why ? *why : Disconnected{"not disconnected"};
  }
};

TEST_F(TlsRpcTest, AnAmListensOnANonLoopbackAddressOnlyWithTls) {
  const auto plain = StartRpcServer(loop, {.folder = temp.path(), .at = {Endpoint{"0.0.0.0", 0}}}, service);
  ASSERT_FALSE(plain.ok());
  EXPECT_EQ(plain.error().code, ErrorCode::kNotPermitted);
  EXPECT_EQ(plain.error().message, "listen on 0.0.0.0:0: an address beyond this machine needs TLS");
  StartServer({.at = {SocketName{"am.1.sock"}, Endpoint{"0.0.0.0", 0}}});
  const int port = std::get<Endpoint>(server->addresses().back()).port;
  for (const char* host : {"127.0.0.1", "127.0.0.2"})
    EXPECT_TRUE(std::holds_alternative<Acknowledged>(HeartbeatNow(Endpoint{host, port})));
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(HeartbeatNow(SocketName{"am.1.sock"}))) << "where there is no TLS";
}

TEST_F(TlsRpcTest, AnExecutorOfAnotherJobMistrustsTheAmAndSendsNoCall) {
  const auto other = *MakeJobCertificates("local-2", WallNow(), std::chrono::hours(1));
  StartServer();
  const Disconnected why = DisconnectedIn(HeartbeatNow(server->addresses().front(), other.executor));
  EXPECT_TRUE(why.untrusted_listener);
  EXPECT_FALSE(why.misunderstood);
  EXPECT_EQ(ErrorOf(why).code, ErrorCode::kNotPermitted);
  EXPECT_THAT(service.calls, IsEmpty());
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 0; }));
  ExpectAlive();
}

TEST_F(TlsRpcTest, AServerWithoutTlsIsMistrustedAndReceivesNoToken) {
  const UniqueFd listening = *ListenOn({kLoopback, 0});
  std::string heard;
  UniqueFd accepted;
  EventLoop::FdWatch reading;
  const auto accepting = loop.WhenReadable(listening.get(), [&] {
    accepted = UniqueFd(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    reading = loop.WhenReadable(accepted.get(), [&] {
      char chunk[4096];
      const ssize_t got = ::recv(accepted.get(), chunk, sizeof chunk, 0);
      if (got <= 0) return reading.reset();
      heard.append(chunk, static_cast<size_t>(got));
      constexpr std::string_view kAnswer = "HTTP/1.1 400 Bad Request\r\n\r\n";
      ::send(accepted.get(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    });
  });
  EXPECT_TRUE(DisconnectedIn(HeartbeatNow(*BoundAddress(listening))).untrusted_listener);
  EXPECT_THAT(heard, testing::Not(HasSubstr(SomeCaller().token)));
}

TEST_F(TlsRpcTest, ATlsClientOfAPlaintextServerReceivesUnavailable) {
  const auto plain = *StartRpcServer(loop, {.folder = temp.path(), .at = {Endpoint{kLoopback, 0}}}, service);
  const Disconnected why = DisconnectedIn(HeartbeatNow(plain->addresses().front()));
  EXPECT_EQ(ErrorOf(why).code, ErrorCode::kUnavailable);
  EXPECT_THAT(why.reason, HasSubstr("the peer closed the connection"));
  EXPECT_THAT(service.calls, IsEmpty());
}

TEST_F(TlsRpcTest, AHeartbeatToAClosedPortReturnsUnavailable) {
  StartServer();
  const Address gone = server->addresses().front();
  server.reset();
  const Disconnected why = DisconnectedIn(HeartbeatNow(gone));
  EXPECT_EQ(ErrorOf(why).code, ErrorCode::kUnavailable);
  EXPECT_THAT(why.reason, HasSubstr("connection refused"));
}

TEST_F(TlsRpcTest, BytesThatAreNotTlsCloseOnlyTheirConnection) {
  StartServer();
  RawPeer bystander(Place());
  bystander.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  for (const std::string& bytes :
       {HeartbeatFrame(1), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01\x00\x05xxxxx", 10)}) {
    TcpPeer plain(server->addresses().front());
    plain.Send(bytes);
    EXPECT_TRUE(RunUntil([&] { return plain.closed(); }));
  }
  EXPECT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  service.parked.front().Success({3, Command::Kind::kStop, {}, "", Duration(0)});
  EXPECT_EQ(ParseAnswer(ReadFrame(bystander)).header.seq, 1);
  EXPECT_EQ(service.calls.size(), 1u);
}

TEST_F(TlsRpcTest, AnUnfinishedTlsHandshakeIsClosedAfterTheTimeLimitForUnauthenticatedPeers) {
  StartServer({.stranger_limit = Duration(50)});
  TcpPeer silent(server->addresses().front());
  TcpPeer half(server->addresses().front());
  half.Send(std::string_view("\x16\x03\x01\x00\xf0\x01\x00\x00\xec\x03\x03", 11));
  EXPECT_TRUE(RunUntil([&] { return silent.closed() && half.closed(); }));
}

TEST_F(TlsRpcTest, UnfinishedTlsHandshakesAreLimitedByMaxStrangers) {
  StartServer({.max_strangers = 2});
  TcpPeer first(server->addresses().front());
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  TcpPeer second(server->addresses().front());
  TcpPeer third(server->addresses().front());
  EXPECT_TRUE(RunUntil([&] { return first.closed(); }));
  EXPECT_EQ(server->connections(), 2u);
}

TEST_F(TlsRpcTest, ThreeHundredStuckTlsHandshakesDoNotDelayAnExecutor) {
  StartServer({.stranger_limit = std::chrono::minutes(1)});
  std::deque<TcpPeer> silent;
  for (int i = 0; i < 300; ++i) silent.emplace_back(server->addresses().front());
  EXPECT_TRUE(std::holds_alternative<Acknowledged>(HeartbeatNow(server->addresses().front())));
  EXPECT_EQ(server->connections(), 301u);
}

}  // namespace
}  // namespace tony
