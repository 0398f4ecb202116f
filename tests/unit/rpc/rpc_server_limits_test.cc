// What the server does when there is too much of something, and the options of its sockets.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "runtime/net/sockets.h"
#include "tests/unit/rpc/rpc_fixture.h"

namespace tony {
namespace {

using RpcServerLimitsTest = AnyTransport;
using RpcServerSocketsTest = RpcFixture;
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

TEST_P(RpcServerLimitsTest, OneCallTooManyIsAnsweredWithAnExceptionAndTheOthersStay) {
  RpcServerOptions options;
  options.max_open_calls = 2;
  StartServer(options);
  RawPeer peer(Place());
  for (const int seq : {1, 2, 3}) peer.Send(AwaitFrame(seq));
  const ParsedAnswer answer = ParseAnswer(ReadFrame(peer));
  EXPECT_EQ(answer.header.seq, 3);
  EXPECT_EQ(answer.exception, "too many open calls");

  service.parked.front().Success({});
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 1);
  peer.Send(AwaitFrame(4));
  EXPECT_TRUE(RunUntil([&] { return service.parked.size() == 3; }));
}

TEST_P(RpcServerLimitsTest, OneConnectionTooManyIsClosed) {
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

TEST_P(RpcServerLimitsTest, APeerThatDoesNotReadIsDropped) {
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

TEST_P(RpcServerLimitsTest, AnAnswerLargerThanTheSocketTakesArrivesWhole) {
  StartServer();
  const std::string spec(8 << 20, 's');
  service.on_await = [&](const Caller&, const Reply<Command>& reply) {
    reply.Success({1, Command::Kind::kStart, {1}, spec, Duration(0)});
  };
  RawPeer slow(Place());
  slow.Send(AwaitFrame(1));
  EXPECT_TRUE(ParseResult<rpc::ExecutorService_Await_result>(ReadFrame(slow)).success.cluster_spec == spec);
}

TEST_F(RpcServerSocketsTest, APortThatIsTakenIsUnavailable) {
  StartServer({.at = {Endpoint{"127.0.0.1", 0}}});
  const RpcServerOptions options{.at = server->addresses()};
  const auto second = StartRpcServer(loop, options, service);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, testing::HasSubstr("address already in use"));
}

TEST_F(RpcServerSocketsTest, SocketsAreCloseOnExecAndTcpNoticesALostHost) {
  const std::vector<int> before = OpenSockets();
  StartServer({.at = {Endpoint{"127.0.0.1", 0}}});
  const UniqueFd peer = *StartConnect(std::get<Endpoint>(server->addresses().front()));
  ASSERT_TRUE(RunUntil([&] { return server->connections() == 1; }));
  std::vector<int> ours = OpenSockets();
  for (const int fd : before) std::erase(ours, fd);
  std::erase(ours, peer.get());
  ASSERT_EQ(ours.size(), 2u);  // listening and accepted
  for (const int fd : ours) {
    EXPECT_TRUE(::fcntl(fd, F_GETFD) & FD_CLOEXEC);
    if (Option(fd, SOL_SOCKET, SO_ACCEPTCONN)) continue;
    EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(Option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(Option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
  }
}

TEST_F(RpcServerSocketsTest, WithoutDescriptorsNewcomersWait) {
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

}  // namespace
}  // namespace tony
