#include "tests/unit/rpc/rpc_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thrift/TApplicationException.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "runtime/net/tcp.h"

namespace tony {
namespace {

constexpr Duration kLimit = std::chrono::seconds(10);

}  // namespace

bool RunUntil(EventLoop& loop, const std::function<bool()>& done) {
  const Instant deadline = loop.Now() + kLimit;
  EventLoop::Timer timer;
  bool held = false;
  std::function<void()> look = [&] {
    held = done();  // once: it may consume what it looks for
    if (held || loop.Now() >= deadline) return loop.Stop();
    timer = loop.After(Duration(1), look);
  };
  loop.Post(look);
  loop.Run();
  return held;
}

int FreePort() { return *BoundPort(*ListenOn({"127.0.0.1", 0})); }

RawPeer::RawPeer(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(::connect(fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
}

void RawPeer::Send(std::string_view bytes) {
  EXPECT_EQ(::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

void RawPeer::SendFrame(std::string_view payload) {
  const uint32_t length = htonl(static_cast<uint32_t>(payload.size()));
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  Send(frame.append(payload));
}

std::optional<std::string> RawPeer::TryReadFrame() {
  for (;;) {
    const auto frame = cutter_.Next();
    if (frame.ok() && *frame) return std::string(**frame);
    std::string chunk(64 << 10, 0);
    const ssize_t got = ::recv(fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got <= 0) return std::nullopt;
    cutter_.Add(std::string_view(chunk).substr(0, static_cast<size_t>(got)));
  }
}

bool RawPeer::closed() {
  char chunk[4096];
  for (;;) {
    const ssize_t got = ::recv(fd(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got > 0) continue;
    return got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
}

void RawPeer::ShrinkReceiveBuffer() {
  const int size = 4096;
  EXPECT_EQ(::setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
}

void RpcFixture::StartServer(RpcServerOptions options) {
  auto started = StartRpcServer(loop, options, service);
  ASSERT_TRUE(started.ok()) << started.error().message;
  server = *std::move(started);
}

std::string RpcFixture::ReadFrame(RawPeer& peer) {
  std::optional<std::string> frame;
  EXPECT_TRUE(RunUntil([&] { return (frame = peer.TryReadFrame()).has_value(); }));
  return frame.value_or("");
}

void RpcFixture::InThread(const std::function<void()>& body) {
  std::atomic<bool> done = false;
  std::thread thread([&] {
    body();
    done = true;
  });
  EXPECT_TRUE(RunUntil([&] { return done.load(); }));
  thread.join();
}

void RpcFixture::ExpectAlive() {
  RawPeer peer(server->port());
  peer.Send(HeartbeatFrame(99));
  EXPECT_EQ(ParseAnswer(ReadFrame(peer)).header.seq, 99);
}

std::string HeartbeatFrame(int32_t seq) {
  rpc::ExecutorService_Heartbeat_args args;
  args.caller = ToThrift(SomeCaller());
  args.progress = ToThrift(Progress{Phase::kRunning, 1234});
  return WriteMessage({"Heartbeat", apache::thrift::protocol::T_CALL, seq}, args);
}

std::string AwaitFrame(int32_t seq) {
  rpc::ExecutorService_Await_args args;
  args.caller = ToThrift(SomeCaller());
  args.since = 5;
  return WriteMessage({"Await", apache::thrift::protocol::T_CALL, seq}, args);
}

std::string EmptyCallFrame(const std::string& method, int32_t seq, apache::thrift::protocol::TMessageType type) {
  return WriteMessage({method, type, seq}, rpc::Registered());
}

ParsedAnswer ParseAnswer(std::string_view frame) {
  MessageReader reader(frame);
  const auto header = reader.ReadHeader();
  if (!header.ok()) return {};
  ParsedAnswer answer{*header, ""};
  if (header->type == apache::thrift::protocol::T_EXCEPTION) {
    apache::thrift::TApplicationException exception;
    EXPECT_TRUE(reader.ReadBody(exception).ok());
    answer.exception = exception.what();
  }
  return answer;
}

}  // namespace tony
