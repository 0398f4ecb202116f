// A server on a real event loop and raw peers on real sockets, all in the test's thread: Unix sockets, or TLS over TCP.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ExecutorService.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/tls.h"
#include "runtime/rpc/call.h"
#include "runtime/rpc/convert.h"
#include "tests/support/run_until.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony {

const JobCertificates& TestCertificates();  // shared by all tests

// A client that sends arbitrary bytes.
class RawPeer {
 public:
  struct Where {
    EventLoop& loop;
    std::filesystem::path socket;
    // If set, the peer connects there with TLS, as an executor does.
    std::optional<Endpoint> port;
  };
  explicit RawPeer(const Where& where);
  // With TLS, the bytes are sent when the loop runs.
  void Send(std::string_view bytes);
  void SendFrame(std::string_view payload);
  // Reads available bytes. Returns nullopt if no frame is complete yet.
  std::optional<std::string> TryReadFrame();
  // True if the other end has closed the connection. Reads and drops all unread bytes.
  bool closed();
  int fd() const { return channel_->socket(); }
  void Vanish();

 private:
  bool ReadSome();  // false: nothing to read
  void Push();

  EventLoop& loop_;
  std::unique_ptr<Channel> channel_;
  std::string unsent_, read_;
  bool ended_ = false;
  EventLoop::FdWatch readable_, writable_;  // watches for Push()
  FrameCutter cutter_{64 << 20};
};

enum class Transport { kUnixSocket, kTls };

class RpcFixture : public testing::Test {
 protected:
  explicit RpcFixture(Transport its_transport = Transport::kUnixSocket) : transport(its_transport) {}
  // Listens at am.1.sock, or with TLS at any free port, unless the options give addresses.
  void StartServer(RpcServerOptions options = {});
  std::filesystem::path Socket() const { return temp.path() / "am.1.sock"; }
  RawPeer::Where Place();
  bool RunUntil(const std::function<bool()>& done) { return tony::RunUntil(loop, done); }
  // Returns an empty text and fails the test if no frame comes.
  std::string ReadFrame(RawPeer& peer);
  // Expects that the server still answers the heartbeat of a well-behaved peer.
  void ExpectAlive();

  const Transport transport;
  TempFolder temp;
  EventLoop loop;
  FakeAmService service;
  std::unique_ptr<RpcServer> server;
};

// The base of tests that must pass with each transport.
class AnyTransport : public RpcFixture, public testing::WithParamInterface<Transport> {
 protected:
  AnyTransport() : RpcFixture(GetParam()) {}
};
inline std::string TransportName(const testing::TestParamInfo<Transport>& info) {
  return info.param == Transport::kTls ? "Tls" : "UnixSocket";
}
#define FOR_ALL_TRANSPORTS(suite) \
  INSTANTIATE_TEST_SUITE_P(By, suite, testing::Values(Transport::kUnixSocket, Transport::kTls), TransportName)

// Frames as a client sends them, with the length in front.
std::string HeartbeatFrame(int32_t seq);
std::string AwaitFrame(int32_t seq);
std::string EmptyCallFrame(const std::string& method, int32_t seq,
                           apache::thrift::protocol::TMessageType type = apache::thrift::protocol::T_CALL);
inline std::string_view Payload(std::string_view frame) { return frame.substr(4); }

// The header of an answer. ParseResult() returns the result in its body.
struct ParsedAnswer {
  MessageHeader header;
  std::string exception;  // the text of a TApplicationException
};
ParsedAnswer ParseAnswer(std::string_view frame);
template <class ResultStruct>
ResultStruct ParseResult(std::string_view frame) {
  MessageReader reader(frame);
  EXPECT_TRUE(reader.ReadHeader().ok());
  ResultStruct result;
  EXPECT_TRUE(reader.ReadBody(result).ok());
  return result;
}

}  // namespace tony
