// Hadoop's RPC, version 9, as bytes. Pure functions; private to this folder, since it shows protobuf.
//
//   client: "hrpc" 9 class auth, then frames                     both ways a frame is: length (4 bytes), messages
//     call      RpcRequestHeader, RequestHeader, request         a message is: its length as a varint, its bytes
//     context   RpcRequestHeader, IpcConnectionContext           answer: RpcResponseHeader, and if it says SUCCESS
//     SASL      RpcRequestHeader, RpcSasl                                one message more
//     ping      RpcRequestHeader
//
// No length is believed: FrameCutter bounds the frame's, and a message's must lie within its frame.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/wire/rpc.pb.h"

namespace tony::hadoop {

// The longest answer is the list of all nodes, some 10 MB for a cluster of 10,000. Hadoop's own clients take 128 MiB.
inline constexpr uint32_t kLongestAnswer = 32 << 20;
// Of requests: a server closes the connection, without a word, for a frame above
// CommonConfigurationKeys.IPC_MAXIMUM_DATA_LENGTH_DEFAULT, 128 MiB.
inline constexpr size_t kLongestRequest = 64 << 20;

// RpcConstants, and ConnectionContext/Sasl/Ping call ids of Hadoop's client.
inline constexpr int32_t kContextCallId = -3;
inline constexpr int32_t kPingCallId = -4;
inline constexpr int32_t kSaslCallId = -33;

enum class RpcAuth : char { kNone = 0, kSasl = -33 };  // SaslRpcServer.AuthProtocol

std::string ConnectionHeader(RpcAuth auth);
std::string ContextFrame(const std::string& client_id, const std::string& user, const std::string& protocol);
std::string PingFrame(const std::string& client_id);
std::string SaslFrame(const wire::RpcSasl& message);

struct RpcCall {
  int32_t id = 0;
  int32_t retry = 0;  // how often it was tried before, by the same client with the same id
  std::string method;
  std::string protocol;
};
// `request`: the message's bytes.
std::string CallFrame(const std::string& client_id, const RpcCall& call, std::string_view request);

// Any messages as one frame: also what a server writes.
std::string FrameOf(std::initializer_list<const google::protobuf::MessageLite*> messages);

// The next message of a frame, which `rest` loses. kInvalid: it is cut, or another kind of message.
Status TakeMessage(std::string_view& rest, google::protobuf::MessageLite& message);

struct RpcResponse {
  int32_t call_id = 0;
  wire::RpcResponseHeader header;
  std::string_view body;  // of the frame; empty unless it is a success
};
Result<RpcResponse> ReadResponse(std::string_view frame);

}  // namespace tony::hadoop
