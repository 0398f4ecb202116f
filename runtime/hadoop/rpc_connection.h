// Why a call has no answer, and what that means for its caller. Values; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/host_resolver.h"

namespace tony::hadoop {

struct RpcFailure {
  enum class Kind {
    kAnswered,       // the server's exception for this call: the connection goes on
    kRefused,        // the server's exception for the whole connection, which is over
    kLost,           // no answer: not connected, broken, or too late; the server may have done what was asked
    kMisunderstood,  // what came is not Hadoop's protocol
    kNotPermitted,   // the proof of the token failed on our side
  };
  Kind kind = Kind::kLost;
  std::string exception_class;  // of Java: "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"; else empty
  std::string message;          // its first line
};

// Whether the exception has this name, which is without its package.
bool IsException(const RpcFailure& failure, std::string_view name);

// For people: "CONTEXT: ApplicationNotFoundException: application ... does not exist". Code: kUnavailable if it may
// help to try again, else by the exception.
Error ErrorOf(const RpcFailure& failure, std::string_view context);

// The name without its package and outer class.
std::string_view ShortName(std::string_view exception_class);
// Of a message with a stack trace behind it; without control characters, at most 1000 bytes.
std::string FirstLine(std::string_view text);
std::string OneLine(std::string text);  // all of its lines as one, to the same length

// A connection to one Hadoop server, for one of its protocols. Loop thread only.
//
//            Call()              address              connected             token proved
//    idle ----------> resolving --------> connecting ------------> proving --------------> open
//     ^                   |                    |   \__ no token: open at once                 |
//     +-------------------+--------------------+--------------------- any trouble ------------+
//
// Nothing is tried twice: in trouble every open call fails, and the next call connects anew. Calls go side by side.
// Each callback comes once, never from inside a method, and not at all once this is destroyed, which a callback may do.

class SaslExchange;
struct RpcResponse;

// A name that the server believes, on a cluster without security; or a token, on any.
struct SimpleUser {
  std::string name;
};
using RpcIdentity = std::variant<SimpleUser, Token>;

struct RpcServer {
  Endpoint address;      // a host name or an IPv4 address
  std::string protocol;  // "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
};

struct RpcLimits {
  Duration establish = std::chrono::seconds(20);  // ipc.client.connect.timeout; with it the proof of a token
  Duration call = std::chrono::seconds(120);      // ipc.client.rpc-timeout.ms
  Duration ping = std::chrono::seconds(60);       // ipc.ping.interval: of silence while a call is open
};

class RpcConnection {
 public:
  // The bytes of the answering message, or why there is none.
  using Reply = std::variant<std::string, RpcFailure>;
  using OnReply = std::function<void(Reply)>;

  // `loop` and `names` outlive this.
  RpcConnection(EventLoop& loop, HostResolver& names, RpcServer server, RpcIdentity identity, RpcLimits limits = {});
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;

  // From the next connect on; what is connected stays so.
  void Use(RpcIdentity identity) { identity_ = std::move(identity); }

  // `request`: the bytes of the message. A call without an answer within the limit ends the connection.
  void Call(const std::string& method, std::string request, OnReply done);

  const RpcServer& server() const { return server_; }

 private:
  enum class Stage { kIdle, kResolving, kConnecting, kProving, kOpen };
  struct OpenCall {
    OnReply done;
    EventLoop::Timer limit;
  };

  void Establish();
  void Connect(const std::string& address);
  void OnConnected();
  void OnFrame(std::string_view frame);
  Status Prove(const RpcResponse& response);
  void TakeAnswer(const RpcResponse& response);
  void Open();
  void Send(std::string bytes);
  void ArmPing();
  RpcFailure Late(const std::string& what, Duration limit) const;
  void Drop(const RpcFailure& why);
  void PostReply(OnReply done, Reply reply);

  EventLoop& loop_;
  HostResolver& names_;
  const RpcServer server_;
  RpcIdentity identity_;
  const RpcLimits limits_;
  const std::string
      client_id_;  // 16 random bytes; with the call's number it is the same call for a server's retry cache

  Stage stage_ = Stage::kIdle;
  HostResolver::Query resolving_;
  UniqueFd socket_;               // while connecting
  EventLoop::FdWatch connected_;  // after socket_: released before it closes
  EventLoop::Timer establish_limit_;
  std::unique_ptr<SaslExchange> proof_;
  std::shared_ptr<FrameConnection> frames_;
  std::string unsent_;  // calls that wait until the connection is open

  int32_t last_call_ = -1;
  std::map<int32_t, OpenCall> open_calls_;
  Instant last_traffic_{};
  EventLoop::Timer ping_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace tony::hadoop
