#include "tests/unit/rpc/rpc_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thrift/TApplicationException.h>

#include <cerrno>
#include <cstring>

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

RawPeer::RawPeer(const std::filesystem::path& socket) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  EXPECT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
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

void RpcFixture::StartServer(RpcServerOptions options) {
  options.folder = temp.path();
  if (options.at.empty()) options.at = {SocketName{"am.1.sock"}};
  auto started = StartRpcServer(loop, options, service);
  ASSERT_TRUE(started.ok()) << started.error().message;
  server = *std::move(started);
}

std::string RpcFixture::ReadFrame(RawPeer& peer) {
  std::optional<std::string> frame;
  EXPECT_TRUE(RunUntil([&] { return (frame = peer.TryReadFrame()).has_value(); }));
  return frame.value_or("");
}

void RpcFixture::ExpectAlive() {
  RawPeer peer(Socket());
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
