// A server on a real event loop and raw peers on real Unix sockets, all in the test's thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ExecutorService.h"
#include "runtime/base/unique_fd.h"
#include "runtime/net/frame_cutter.h"
#include "runtime/rpc/convert.h"
#include "runtime/rpc/wire.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/rpc/fake_am_service.h"

namespace tony {

// Runs the loop until `done` holds; false if it does not within some seconds.
bool RunUntil(EventLoop& loop, const std::function<bool()>& done);

// A client that sends whatever bytes a test likes.
class RawPeer {
 public:
  explicit RawPeer(const std::filesystem::path& socket);
  void Send(std::string_view bytes);
  void SendFrame(std::string_view payload);
  // Reads what is there; nothing if no frame is complete yet.
  std::optional<std::string> TryReadFrame();
  bool closed();  // by the other end; reads and drops what was still to be read
  int fd() const { return socket_.get(); }
  void Vanish() { socket_.Reset(); }

 private:
  UniqueFd socket_;
  FrameCutter cutter_{64 << 20};
};

class RpcFixture : public testing::Test {
 protected:
  // At am.1.sock, unless the options say where.
  void StartServer(RpcServerOptions options = {});
  std::filesystem::path Socket() const { return temp.path() / "am.1.sock"; }
  bool RunUntil(const std::function<bool()>& done) { return tony::RunUntil(loop, done); }
  std::string ReadFrame(RawPeer& peer);  // empty, and a failure, if none comes
  // The heartbeat of a well-behaved peer is answered: the server lives.
  void ExpectAlive();

  TempFolder temp;
  EventLoop loop;
  FakeAmService service;
  std::unique_ptr<RpcServer> server;
};

// Frames as a client sends them, with their lengths.
std::string HeartbeatFrame(int32_t seq);
std::string AwaitFrame(int32_t seq);
std::string EmptyCallFrame(const std::string& method, int32_t seq,
                           apache::thrift::protocol::TMessageType type = apache::thrift::protocol::T_CALL);
inline std::string_view Payload(std::string_view frame) { return frame.substr(4); }

// The header of an answer, and the result in its body.
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
