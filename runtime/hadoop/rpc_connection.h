// The reasons why a call failed, and their meaning for the caller. Values; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

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
    // The server sent an exception for this call. The connection stays open.
    kAnswered,
    // The server sent an exception for the whole connection, which is now closed.
    kRefused,
    // The call got no answer, because no connection was made, the connection broke, a protected message was changed on
    // its way, or the time ran out. The server may have executed the call.
    kLost,
    // The server's bytes are not Hadoop's protocol, or the request is too long.
    kProtocolError,
    // The client ended the exchange that proves its token, because the server accepts no token, does not know the
    // token's password, or demands a protection of messages that is not supported.
    kNotPermitted,
  };
  Kind kind = Kind::kLost;
  // Java class, such as "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException". Empty unless the server sent
  // an exception.
  std::string exception_class;
  std::string message;  // first line of the message
  // The call was not sent, so the server has certainly not executed it.
  bool is_unsent = false;
};

// Returns true if the exception's class has this name. `name` has no package.
bool IsException(const RpcFailure& failure, std::string_view name);

// Returns true if the server is in standby, or is still starting. It has not executed the call.
bool IsStandby(const RpcFailure& failure);

// Returns true if the server refuses every request of this client, so a retry would have the same result. Possible
// reasons: the server does not speak this protocol, does not accept the client's identity, does not accept the client's
// protection of messages, or does not authorize the user.
bool IsFinal(const RpcFailure& failure);

// Returns an error for users: "CONTEXT: ApplicationNotFoundException: application ... does not exist". The code is
// kUnavailable if a retry may help. Otherwise the code depends on the exception.
Error ErrorOf(const RpcFailure& failure, std::string_view context);

// Returns the name of a class without its package and outer class.
std::string_view ShortName(std::string_view exception_class);
// Returns all lines of a message joined to one line of at most 1000 bytes.
std::string OneLine(std::string text);

// `RpcConnection` is a connection to one Hadoop server, for one of its protocols. Loop thread only.
//
//            Call()              address              connected             token proved
//    idle ----------> resolving --------> connecting ------------> proving --------------> open
//     ^                   |                    |   \__ no token: open at once                 |
//     +-------------------+--------------------+--------------------- any failure ------------+
//
// Nothing is retried: a failure ends every open call, and the next call connects again. If the service has several
// servers, and one of them fails or answers that it is in standby, the next call connects to the server after it. Calls
// run concurrently. Each callback is called once, and never from inside a method. A callback may destroy the
// connection. The remaining callbacks are then never called.

class SaslExchange;
struct RpcResponse;

// The identity of the client. Only a cluster without security accepts a user name, because nothing proves the name.
// Every cluster accepts a token.
struct SimpleUser {
  std::string name;
};
// The user who has a Kerberos ticket or a keytab. The loop's thread waits while Kerberos answers (gss_context.h).
struct KerberosUser {
  // The principal that the site files give to the server, such as "rm/_HOST@EXAMPLE.ORG".
  std::string server;
  // The name of another user, as whom this user acts if the server allows it (hadoop.proxyuser.*). Empty: the user acts
  // as himself.
  std::string proxied = {};
};
using RpcIdentity = std::variant<SimpleUser, Token, KerberosUser>;

struct RpcServer {
  // Host name or IPv4 address. If a service has several servers, only one of them is active, and any of them may be.
  std::vector<Endpoint> addresses;
  std::string protocol;  // e.g. "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
};

struct RpcLimits {
  // The limit for connecting and proving the token (Hadoop's ipc.client.connect.timeout).
  Duration establish = std::chrono::seconds(20);
  Duration call = std::chrono::seconds(120);  // as Hadoop's ipc.client.rpc-timeout.ms
  // A ping is sent after this much silence while a call is open (Hadoop's ipc.ping.interval).
  Duration ping = std::chrono::seconds(60);
};

class RpcConnection {
 public:
  // The result of a call: the bytes of the response message, or the reason why the call failed.
  using Reply = std::variant<std::string, RpcFailure>;
  using OnReply = std::function<void(Reply)>;

  // `loop` and `names` must outlive this object.
  RpcConnection(EventLoop& loop, HostResolver& names, RpcServer server, RpcIdentity identity, RpcLimits limits = {});
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;

  // Sets the identity for the next connect. An open connection keeps its identity.
  void Use(RpcIdentity identity) { identity_ = std::move(identity); }
  // Sets the servers for the next connect. Call it only after a failure that ended the connection.
  void Use(std::vector<Endpoint> addresses);

  // Makes a call. `request` contains the bytes of the request message. A call that gets no answer within its limit
  // closes the connection.
  void Call(const std::string& method, std::string request, OnReply done);

  // Returns the server to which this connection is open, or which is tried next.
  const Endpoint& address() const { return server_.addresses[current_]; }

 private:
  enum class Stage { kIdle, kResolving, kConnecting, kProving, kOpen };
  struct Protection;
  struct OpenCall {
    OnReply done;
    EventLoop::Timer limit;
  };

  void Establish();
  void Connect(const std::string& address);
  void OnConnected();
  void OnFrame(std::string_view frame);
  void TakeFrame(std::string_view frame);
  Result<std::string> Unwrap(std::string_view frame);
  Result<std::string> Wrap(std::string_view bytes);
  Status Prove(const RpcResponse& response);
  void TakeAnswer(const RpcResponse& response);
  void Open();
  void Send(std::string bytes);
  void ArmPing();
  RpcFailure Late(const std::string& what, Duration limit) const;
  void Drop(const RpcFailure& why, bool is_standby = false);
  void PostReply(OnReply done, Reply reply);

  EventLoop& loop_;
  HostResolver& names_;
  RpcServer server_;
  size_t current_ = 0;  // index in RpcServer::addresses
  RpcIdentity identity_;
  const RpcLimits limits_;
  // 16 random bytes. Together with the number of a call, these bytes identify the call in a server's retry cache.
  const std::string client_id_;

  Stage stage_ = Stage::kIdle;
  HostResolver::Query resolving_;
  UniqueFd socket_;  // valid while connecting
  // Declared after socket_, so that the watch is released before the socket closes.
  EventLoop::FdWatch connected_;
  EventLoop::Timer establish_limit_;
  std::unique_ptr<SaslExchange> proof_;
  std::shared_ptr<FrameConnection> frames_;
  // Null unless the connection is open and protects its messages.
  std::shared_ptr<Protection> protection_;
  // Bytes of calls that wait until the connection is open.
  std::string unsent_;

  int32_t last_call_ = -1;
  std::map<int32_t, OpenCall> open_calls_;
  Instant last_traffic_{};
  EventLoop::Timer ping_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace tony::hadoop
