// The frames of Hadoop's RPC, version 9. Pure functions; private to this folder, because it exposes protobuf types.
//
//   client: "hrpc" 9 class auth, then frames                     both ways a frame is: length (4 bytes), messages
//     call      RpcRequestHeader, RequestHeader, request         a message is: its length as a varint, its bytes
//     context   RpcRequestHeader, IpcConnectionContext           answer: RpcResponseHeader, and after SUCCESS
//     SASL      RpcRequestHeader, RpcSasl                                one more message
//     ping      RpcRequestHeader
//
// Received lengths are not trusted: FrameCutter limits the length of a frame, and a message must lie within its frame.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/hadoop/rpc_connection.h"
#include "runtime/hadoop/wire/rpc.pb.h"

namespace tony::hadoop {

// The longest answer that is accepted. The largest in practice is the list of all nodes, about 10 MB for a cluster of
// 10,000 nodes. Hadoop's own clients accept 128 MiB.
inline constexpr uint32_t kLongestAnswer = 32 << 20;
// The longest request that is sent. If a frame is longer than 128 MiB
// (CommonConfigurationKeys.IPC_MAXIMUM_DATA_LENGTH_DEFAULT), a server closes the connection without a message.
inline constexpr size_t kLongestRequest = 64 << 20;

// Reserved call ids, from RpcConstants and from Hadoop's client (connection context, SASL, ping).
inline constexpr int32_t kContextCallId = -3;
inline constexpr int32_t kPingCallId = -4;
inline constexpr int32_t kSaslCallId = -33;

enum class RpcAuth : char { kNone = 0, kSasl = -33 };  // SaslRpcServer.AuthProtocol

std::string ConnectionHeader(RpcAuth auth);
std::string ContextFrame(const std::string& client_id, const std::string& user, const std::string& protocol);
std::string PingFrame(const std::string& client_id);
std::string SaslFrame(const wire::RpcSasl& message);
wire::RpcSasl SaslMessage(wire::RpcSasl::SaslState state, std::string token);  // an empty token is set, too

struct RpcCall {
  int32_t id = 0;
  // Number of earlier tries by the same client with the same id.
  int32_t retry = 0;
  std::string method;
  std::string protocol;
};
// Returns the frame of a call. `request` contains the bytes of the request message.
std::string CallFrame(const std::string& client_id, const RpcCall& call, std::string_view request);

// Returns one frame that contains the messages. Servers' frames have the same form.
std::string FrameOf(std::initializer_list<const google::protobuf::MessageLite*> messages);

// Reads the next message of a frame and removes it from `rest`. kInvalid: the message is cut off, or has another type.
Status TakeMessage(std::string_view& rest, google::protobuf::MessageLite& message);

struct RpcResponse {
  int32_t call_id = 0;
  wire::RpcResponseHeader header;
  // The bytes of the response message, a part of the frame. Empty unless the call succeeded.
  std::string_view body;
};
Result<RpcResponse> ReadResponse(std::string_view frame);

// Calls whose results are messages instead of bytes. Private to this folder, because they expose protobuf types.

template <class Response>
using TypedReply = std::variant<Response, RpcFailure>;

template <class Response>
TypedReply<Response> ReadReply(const RpcConnection::Reply& reply) {
  if (const auto* failure = std::get_if<RpcFailure>(&reply)) return *failure;
  const std::string& bytes = std::get<std::string>(reply);
  Response response;
  if (response.ParsePartialFromString(bytes) && response.IsInitialized()) return response;
  return RpcFailure{RpcFailure::Kind::kProtocolError, "",
                    StrCat("the bytes are not a message of the type ", response.GetTypeName())};
}

template <class Response>
void CallTyped(RpcConnection& connection, const std::string& method, const google::protobuf::MessageLite& request,
               std::function<void(const TypedReply<Response>&)> done) {
  connection.Call(method, request.SerializeAsString(),
                  [done = std::move(done)](const RpcConnection::Reply& reply) { done(ReadReply<Response>(reply)); });
}

// Returns the start of an error message, such as "getNewApplication at rm:8032".
inline std::string ContextOf(const std::string& method, const RpcConnection& connection) {
  return StrCat(method, " at ", ToString(connection.address()));
}

// Calls `method`. Then calls `done` with the answer as converted by `convert`, or with an error for users.
template <class T, class Response, class Done>
void CallFor(RpcConnection& connection, const std::string& method, const google::protobuf::MessageLite& request,
             T (*convert)(const Response&), Done done) {
  CallTyped<Response>(connection, method, request,
                      [context = ContextOf(method, connection), convert, done](const TypedReply<Response>& reply) {
                        if (const auto* failure = std::get_if<RpcFailure>(&reply))
                          return done(ErrorOf(*failure, context));
                        done(convert(std::get<Response>(reply)));
                      });
}

}  // namespace tony::hadoop
