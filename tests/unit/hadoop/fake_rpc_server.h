// A Hadoop RPC server on loopback for tests. It records what a client sends, and answers when the test calls for it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/sasl.h"
#include "runtime/hadoop/wire/rpc.pb.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/sockets.h"

namespace tony::hadoop {

class FakeRpcServer {
 public:
  struct Call {
    int connection = 0;  // numbered from 1
    wire::RpcRequestHeader header;
    std::string method, protocol;
    std::string request;  // bytes of the message
  };

  // With a token, the server accepts only clients with that token. Port 0 means any free port.
  FakeRpcServer(EventLoop& loop, std::optional<Token> token, int port = 0);
  int port() const { return listener_->port(); }

  void Succeed(const Call& call, const google::protobuf::MessageLite& response);
  void Fail(const Call& call, const std::string& exception, const std::string& message, bool fatal = false);
  void SendRaw(int connection, const std::string& bytes);
  // Returns the frame that carries `bytes` on a protected connection. The caller must send it.
  std::string Wrapped(int connection, const std::string& bytes);
  void CloseAll();
  void TakeOnly(const Token& token) { token_ = token; }  // for new connections only

  // Calls and connections that the server has received.
  std::vector<Call> calls;
  std::vector<wire::IpcConnectionContext> contexts;
  std::string header;  // the last connection's first seven bytes
  int connections = 0;
  int pings = 0;
  std::vector<size_t> wrapped;  // bytes in each protected frame

  // Settings of the test. `on_call` runs after a call was recorded.
  std::function<void(const Call&)> on_call = [](const Call&) {};
  std::string challenge_qop = "auth";  // the server protects later messages accordingly
  // If false, the server's own proof is wrong.
  bool knows_password = true;
  bool is_mute = false;  // accepts connections and never answers

 private:
  struct Peer {
    UniqueFd socket;
    std::string head;
    FrameCutter cutter{1 << 20};
    std::unique_ptr<SaslLayer> layer;  // null: messages are not protected
    FrameCutter unwrapped{1 << 20};
    std::string unsent;
    EventLoop::FdWatch readable, writable;
  };
  void Accept(UniqueFd socket);
  void OnReadable(int connection);
  void CutFrames(int connection, FrameCutter Peer::*cutter);
  void OnFrame(int connection, std::string_view frame);
  void OnWrapped(int connection, const wire::RpcSasl& message);
  void OnSasl(int connection, const wire::RpcSasl& message);
  void SendSasl(int connection, const wire::RpcSasl& message);
  void Send(int connection, const std::string& bytes);
  void Flush(int connection);
  wire::RpcSasl Offer() const;

  EventLoop& loop_;
  std::optional<Token> token_;
  std::map<int, Peer> peers_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace tony::hadoop
