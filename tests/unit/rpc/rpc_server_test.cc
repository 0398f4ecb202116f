#include "runtime/rpc/rpc_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "runtime/net/sockets.h"
#include "runtime/rpc/am_connection.h"
#include "tests/support/results.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using RpcServerLimitsTest = AnyTransport;
using RpcServerSocketsTest = RpcFixture;
using RpcServerTest = RpcFixture;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RpcServerTest, AnOpenAwaitCallDoesNotDelayOtherCallsOnTheSameConnection) {
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

TEST_F(RpcServerTest, OpenAwaitCallsAreAnsweredInTheOrderInWhichTheServiceReplies) {
  StartServer();
  RawPeer peer(Place());
  for (const int seq : {1, 2, 3}) peer.Send(AwaitFrame(seq));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
  for (const int index : {2, 0, 1}) service.parked[index].Success({});
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 3);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 2);
}

TEST_F(RpcServerTest, FiveHundredCallsSentAtOnceAreAnsweredInOrder) {
  StartServer();
  RawPeer peer(Place());
  std::string together;
  for (int seq = 0; seq < 500; ++seq) together += HeartbeatFrame(seq);
  peer.Send(together);
  for (int seq = 0; seq < 500; ++seq) ASSERT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, seq);
}

TEST_F(RpcServerTest, ARegisterWithAWrongTokenIsRefusedWithBadToken) {
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

TEST_F(RpcServerTest, UnansweredAwaitCallsOfADisconnectedClientAreReportedAsAbandoned) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1) + AwaitFrame(2));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 2; }));
  peer.Vanish();
  EXPECT_TRUE(RunUntil([&] { return service.abandoned == 2; }));
  EXPECT_EQ(server->connections(), 0u);
  service.parked.front().Success({});  // The answer is dropped silently.
  ExpectAlive();
}

TEST_F(RpcServerTest, AnOnAbandonedCallbackThatIsSetAfterTheDisconnectStillRuns) {
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

TEST_F(RpcServerTest, AnOnAbandonedCallbackCanDestroyTheReplyOfItsCall) {
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

TEST_F(RpcServerTest, StoppingTheServerSendsFinishedAnswersAndAbandonsOpenCalls) {
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

TEST_F(RpcServerTest, StoppingTheServerWaitsUntilALargeAnswerIsSent) {
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

TEST_F(RpcServerTest, CallingStopTwiceRunsBothCallbacksEvenIfTheFirstCallbackDestroysTheServer) {
  StartServer();
  RawPeer peer(Place());
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  int stopped = 0;
  server->Stop([&] { server.reset(), ++stopped; });
  server->Stop([&] { ++stopped; });
  EXPECT_TRUE(RunUntil([&] { return stopped == 2; }));
}

TEST_F(RpcServerTest, TheServiceCanStopTheServerDuringACall) {
  StartServer();
  bool stopped = false;
  service.before_heartbeat = [&] { server->Stop([&] { stopped = true; }); };
  RawPeer peer(Place());
  peer.Send(HeartbeatFrame(1) + HeartbeatFrame(2));
  EXPECT_TRUE(RunUntil([&] { return stopped; }));
  EXPECT_THAT(service.calls, ElementsAre("Heartbeat"));
  EXPECT_TRUE(peer.closed());
}

TEST_F(RpcServerTest, DestroyingTheServerAbandonsOpenCalls) {
  StartServer();
  RawPeer peer(Place());
  peer.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return service.parked.size() == 1; }));
  server.reset();
  EXPECT_EQ(service.abandoned, 1);
  EXPECT_TRUE(peer.closed());
  service.parked.front().Success({});
}

// ---- Limits of the server, and the options of its sockets.

FOR_ALL_TRANSPORTS(RpcServerLimitsTest);

int Option(int fd, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &size), 0);
  return value;
}

std::vector<int> OpenSockets() {
  std::vector<int> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int domain = 0;
    socklen_t size = sizeof domain;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0) sockets.push_back(fd);
  }
  return sockets;
}

TEST_P(RpcServerLimitsTest, ACallAboveMaxOpenCallsGetsAnExceptionAndOpenCallsContinue) {
  RpcServerOptions options;
  options.max_open_calls = 2;
  StartServer(options);
  RawPeer peer(Place());
  for (const int seq : {1, 2, 3}) peer.Send(AwaitFrame(seq));
  const ParsedAnswer answer = ParseAnswer(ReadFrame(peer));
  EXPECT_EQ(answer.header.seq, 3);
  EXPECT_EQ(answer.exception, "too many calls of this connection have no answer yet; try again later");

  service.parked.front().Success({});
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  peer.Send(AwaitFrame(4));
  EXPECT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
}

TEST_P(RpcServerLimitsTest, AConnectionAboveMaxConnectionsIsClosed) {
  RpcServerOptions options;
  options.max_connections = 1;
  StartServer(options);
  RawPeer first(Place());
  first.Send(AwaitFrame(1));
  ASSERT_TRUE(RunUntil([&] { return !service.parked.empty(); }));
  RawPeer second(Place());
  EXPECT_TRUE(RunUntil([&] { return second.closed(); }));
  EXPECT_FALSE(first.closed());
}

TEST_P(RpcServerLimitsTest, APeerThatDoesNotReadItsAnswersIsDisconnectedAtMaxUnsentBytes) {
  RpcServerOptions options;
  options.max_unsent = 1 << 20;
  StartServer(options);
  service.on_await = [](const Caller&, const Reply<Command>& reply) {
    reply.Success({1, Command::Kind::kStart, {1}, std::string(900'000, 's'), Duration(0)});
  };
  RawPeer deaf(Place());
  for (int seq = 0; seq < 100; ++seq) deaf.Send(AwaitFrame(seq));
  EXPECT_TRUE(RunUntil([&] { return !service.calls.empty() && server->connections() == 0; }));
  ExpectAlive();
}

TEST_P(RpcServerLimitsTest, AnAnswerLargerThanTheSocketBufferArrivesComplete) {
  StartServer();
  const std::string spec(8 << 20, 's');
  service.on_await = [&](const Caller&, const Reply<Command>& reply) {
    reply.Success({1, Command::Kind::kStart, {1}, spec, Duration(0)});
  };
  RawPeer slow(Place());
  slow.Send(AwaitFrame(1));
  EXPECT_TRUE(ParseResult<rpc::ExecutorService_Await_result>(ReadFrame(slow)).success.cluster_spec == spec);
}

TEST_F(RpcServerSocketsTest, ListeningOnAPortInUseFailsWithUnavailable) {
  StartServer({.at = {Endpoint{"127.0.0.1", 0}}});
  const RpcServerOptions options{.at = server->addresses()};
  ExpectError(StartRpcServer(loop, options, service), ErrorCode::kUnavailable, "~address already in use");
}

TEST_F(RpcServerSocketsTest, ServerSocketsAreCloseOnExecAndTcpConnectionsUseKeepalive) {
  const std::vector<int> before = OpenSockets();
  StartServer({.at = {Endpoint{"127.0.0.1", 0}}});
  const UniqueFd peer = *StartConnect(std::get<Endpoint>(server->addresses().front()));
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  std::vector<int> ours = OpenSockets();
  for (const int fd : before) std::erase(ours, fd);
  std::erase(ours, peer.get());
  ASSERT_EQ(ours.size(), 2u);  // the listening and the accepted socket
  for (const int fd : ours) {
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    if (Option(fd, SOL_SOCKET, SO_ACCEPTCONN)) continue;
    EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(Option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
  }
}

TEST_F(RpcServerSocketsTest, NewConnectionsWaitUntilAFileDescriptorIsFree) {
  StartServer();
  RawPeer peer(Place());
  rlimit all{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &all), 0);
  rlimit none = all;
  none.rlim_cur = static_cast<rlim_t>(peer.fd()) + 1;
  for (const int fd : OpenSockets()) none.rlim_cur = std::max<rlim_t>(none.rlim_cur, static_cast<rlim_t>(fd) + 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::vector<UniqueFd> fillers;
  while (fillers.empty() || fillers.back().valid()) fillers.emplace_back(::dup(peer.fd()));

  peer.Send(HeartbeatFrame(1));
  bool looked = false;
  const auto timer = loop.After(Duration(120), [&] { looked = true; });
  EXPECT_TRUE(RunUntil([&] { return looked; }));
  EXPECT_EQ(server->connections(), 0u);
  fillers.clear();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &all), 0);
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
}

// ---- An AM whose queue of pending connections is full is alive, and other callers come first.

const Address kFullAm = SocketName{"am.2.sock"};

// The queue of pending connections is full, and only the test takes connections from it.
class CrowdedAm {
 public:
  explicit CrowdedAm(const std::filesystem::path& folder)
      : socket_(*ListenAt({folder, "am.2.sock"}, SocketKind::kStream, 0)) {
    while (auto other = *ConnectTo({folder, "am.2.sock"}, SocketKind::kStream)) others_.push_back(*std::move(other));
  }
  UniqueFd Accept() { return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)); }
  size_t others() const { return others_.size(); }

 private:
  UniqueFd socket_;
  std::vector<UniqueFd> others_;
};

class FullQueueTest : public RpcFixture {
 protected:
  void Heartbeat(ExecutorCalls& client, std::optional<Answer<Acknowledged>>& answer) {
    client.Heartbeat(SomeCaller(), {Phase::kRunning, 1}, [&](const Answer<Acknowledged>& given) { answer = given; });
  }
};

TEST_F(FullQueueTest, ExecutorCallsAreSentOnceTheFullListenQueueOfTheAmHasRoom) {
  CrowdedAm am(temp.path());
  const auto client = MakeAmConnection(loop, temp.path(), std::chrono::seconds(30));
  client->Use(kFullAm);
  std::optional<Answer<Acknowledged>> first, second;
  Heartbeat(*client, first);
  Heartbeat(*client, second);
  std::vector<UniqueFd> accepted;
  std::string heard;
  const size_t two = 2 * HeartbeatFrame(1).size();
  EXPECT_TRUE(RunUntil([&] {
    if (UniqueFd socket = am.Accept(); socket.valid()) accepted.push_back(std::move(socket));
    if (accepted.size() <= am.others()) return false;
    char chunk[4096];
    const ssize_t got = ::read(accepted.back().get(), chunk, sizeof chunk);
    if (got > 0) heard.append(chunk, static_cast<size_t>(got));
    return heard.size() >= two;
  }));
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
}

TEST_F(FullQueueTest, AnExecutorCallThatTimesOutAtAFullListenQueueIsReportedAsCrowded) {
  const CrowdedAm am(temp.path());
  const auto client = MakeAmConnection(loop, temp.path(), Duration(50));
  client->Use(kFullAm);
  std::optional<Answer<Acknowledged>> beat;
  Heartbeat(*client, beat);
  ASSERT_TRUE(RunUntil([&] { return beat.has_value(); }));
  EXPECT_TRUE(std::get<Disconnected>(*beat).crowded);
}

TEST_F(FullQueueTest, AClientCallThatTimesOutAtAFullListenQueueNamesTheQueueInItsError) {
  CrowdedAm am(temp.path());
  const auto impatient = MakeAmConnection(loop, temp.path(), Duration(50));
  impatient->Use(kFullAm);
  std::optional<Answer<JobStatus>> status;
  impatient->GetStatus("secret", [&](const Answer<JobStatus>& given) { status = given; });
  ASSERT_TRUE(RunUntil([&] { return status.has_value(); }));
  const Error error = ErrorOf(std::get<Disconnected>(*status));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("the queue of the socket is full"));
}

}  // namespace
}  // namespace tony
