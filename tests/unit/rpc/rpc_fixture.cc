#include "tests/unit/rpc/rpc_fixture.h"

#include <arpa/inet.h>
#include <thrift/TApplicationException.h>

#include "runtime/net/sockets.h"
#include "runtime/net/tls.h"
#include "tests/support/results.h"

namespace tony {

const JobCertificates& TestCertificates() {
  static const auto& made = *new JobCertificates(*MakeJobCertificates("local-1", WallNow(), std::chrono::hours(1)));
  return made;
}

RawPeer::RawPeer(const Where& where) : loop_(where.loop) {
  if (where.port) {
    static const auto& tls = *new MakeChannel(*MakeTlsClient(TestCertificates().executor));
    channel_ = *tls(*StartConnect(*where.port));
    return;
  }
  auto socket = ConnectTo({where.socket.parent_path(), where.socket.filename()}, SocketKind::kStream);
  EXPECT_TRUE(socket.ok()) << socket.error().message;
  channel_ = MakePlainChannel(**std::move(socket));
}

void RawPeer::Send(std::string_view bytes) {
  unsent_ += bytes;
  Push();
}

void RawPeer::Push() {
  readable_.reset();
  writable_.reset();
  while (!unsent_.empty() && !ended_) {
    const Channel::Step step = channel_->Write(unsent_);
    switch (step.kind) {
      case Channel::Step::Kind::kMoved:
        unsent_.erase(0, step.bytes);
        break;
      case Channel::Step::Kind::kWaitsToRead:
        readable_ = loop_.WhenReadable(fd(), [this] { Push(); });
        return;
      case Channel::Step::Kind::kWaitsToWrite:
        writable_ = loop_.WhenWritable(fd(), [this] { Push(); });
        return;
      case Channel::Step::Kind::kEnded:
        ended_ = true;
    }
  }
}

void RawPeer::Vanish() {
  readable_.reset();
  writable_.reset();
  channel_.reset();
}

void RawPeer::SendFrame(std::string_view payload) {
  const uint32_t length = htonl(static_cast<uint32_t>(payload.size()));
  std::string frame(reinterpret_cast<const char*>(&length), sizeof length);
  Send(frame.append(payload));
}

bool RawPeer::ReadSome() {
  read_.resize(64 << 10);
  const Channel::Step step = channel_->Read(read_.data(), read_.size());
  read_.resize(step.bytes);
  ended_ = ended_ || step.kind == Channel::Step::Kind::kEnded;
  // Unsent bytes may have waited for the bytes that were read.
  if (!unsent_.empty()) Push();
  return step.kind == Channel::Step::Kind::kMoved;
}

std::optional<std::string> RawPeer::TryReadFrame() {
  for (;;) {
    const auto frame = cutter_.Next();
    if (frame.ok() && *frame) return std::string(**frame);
    if (!ReadSome()) return std::nullopt;
    cutter_.Add(read_);
  }
}

bool RawPeer::closed() {
  while (ReadSome()) {
  }
  return ended_;
}

void RpcFixture::StartServer(RpcServerOptions options) {
  options.folder = temp.path();
  if (transport == Transport::kTls) {
    options.tls = *MakeTlsServer(TestCertificates().master);
    if (options.at.empty()) options.at = {Endpoint{kLoopback, 0}};
  }
  if (options.at.empty()) options.at = {SocketName{"am.1.sock"}};
  auto started = Must(StartRpcServer(loop, options, service));
  server = std::move(started);
}

RawPeer::Where RpcFixture::Place() {
  const auto* port = std::get_if<Endpoint>(&server->addresses().front());
  return {loop, Socket(), port ? std::optional(*port) : std::nullopt};
}

std::string RpcFixture::ReadFrame(RawPeer& peer) {
  std::optional<std::string> frame;
  EXPECT_TRUE(RunUntil([&] { return (frame = peer.TryReadFrame()).has_value(); }));
  return frame.value_or("");
}

void RpcFixture::ExpectAlive() {
  RawPeer peer(Place());
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
