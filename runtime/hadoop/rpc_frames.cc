#include "runtime/hadoop/rpc_frames.h"

namespace tony::hadoop {
namespace {

constexpr size_t kLengthSize = 4;
constexpr int kVarintBits = 7;
constexpr int kLongestVarint = 5;         // bytes for a 32-bit number
constexpr int32_t kUnnumberedRetry = -1;  // RpcConstants.INVALID_RETRY_COUNT
constexpr char kVersion = 9;              // RpcConstants.CURRENT_VERSION

wire::RpcRequestHeader HeaderFor(int32_t call_id, const std::string& client_id, int32_t retry) {
  wire::RpcRequestHeader header;
  header.set_rpckind(wire::RPC_PROTOCOL_BUFFER);
  header.set_rpcop(wire::RpcRequestHeader::RPC_FINAL_PACKET);
  header.set_callid(call_id);
  header.set_clientid(client_id);
  header.set_retrycount(retry);
  return header;
}

void AppendDelimited(std::string& out, std::string_view bytes) {
  size_t size = bytes.size();
  for (; size > 0x7f; size >>= kVarintBits) out.push_back(static_cast<char>(size | 0x80));
  out.push_back(static_cast<char>(size));
  out.append(bytes);
}

std::string WithLength(std::string body) {
  std::string out(kLengthSize, '\0');
  for (size_t i = 0; i < kLengthSize; ++i) out[i] = static_cast<char>(body.size() >> (8 * (kLengthSize - 1 - i)));
  return out + body;
}

// Removes the next message from `rest` and returns it.
Result<std::string_view> TakeDelimited(std::string_view& rest) {
  uint64_t size = 0;
  for (int i = 0; i < kLongestVarint; ++i) {
    if (rest.empty()) break;
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    size |= static_cast<uint64_t>(byte & 0x7f) << (kVarintBits * i);
    if (byte > 0x7f) continue;
    if (size > rest.size()) break;
    const std::string_view message = rest.substr(0, size);
    rest.remove_prefix(size);
    return message;
  }
  return InvalidError("a message in an RPC frame is cut off");
}

}  // namespace

std::string ConnectionHeader(RpcAuth auth) { return {'h', 'r', 'p', 'c', kVersion, 0, static_cast<char>(auth)}; }

std::string ContextFrame(const std::string& client_id, const std::string& user, const std::string& protocol) {
  wire::IpcConnectionContext context;
  context.set_protocol(protocol);
  // If a token names the user, the user information is present and empty, because the server refuses another name.
  wire::UserInformation& information = *context.mutable_userinfo();
  if (!user.empty()) information.set_effectiveuser(user);
  const auto header = HeaderFor(kContextCallId, client_id, kUnnumberedRetry);
  return FrameOf({&header, &context});
}

std::string PingFrame(const std::string& client_id) {
  const auto header = HeaderFor(kPingCallId, client_id, kUnnumberedRetry);
  return FrameOf({&header});
}

std::string SaslFrame(const wire::RpcSasl& message) {
  const auto header = HeaderFor(kSaslCallId, "", kUnnumberedRetry);
  return FrameOf({&header, &message});
}

wire::RpcSasl SaslMessage(wire::RpcSasl::SaslState state, std::string token) {
  wire::RpcSasl message;
  message.set_state(state);
  message.set_token(std::move(token));
  return message;
}

std::string CallFrame(const std::string& client_id, const RpcCall& call, std::string_view request) {
  wire::RequestHeader method;
  method.set_methodname(call.method);
  method.set_declaringclassprotocolname(call.protocol);
  method.set_clientprotocolversion(1);
  std::string body;
  AppendDelimited(body, HeaderFor(call.id, client_id, call.retry).SerializeAsString());
  AppendDelimited(body, method.SerializeAsString());
  AppendDelimited(body, request);
  return WithLength(std::move(body));
}

std::string FrameOf(std::initializer_list<const google::protobuf::MessageLite*> messages) {
  std::string body;
  for (const auto* message : messages) AppendDelimited(body, message->SerializeAsString());
  return WithLength(std::move(body));
}

Status TakeMessage(std::string_view& rest, google::protobuf::MessageLite& message) {
  TRY_ASSIGN(const std::string_view bytes, TakeDelimited(rest));
  // ParseFromArray() is not used, because it writes missing fields to standard error.
  if (message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) && message.IsInitialized())
    return Ok();
  return InvalidError("the bytes are not a message of the type ", message.GetTypeName());
}

Result<RpcResponse> ReadResponse(std::string_view frame) {
  RpcResponse response;
  TRY(TakeMessage(frame, response.header));
  response.call_id = static_cast<int32_t>(response.header.callid());
  if (response.header.status() == wire::RpcResponseHeader::SUCCESS) {
    TRY_ASSIGN(response.body, TakeDelimited(frame));
  }
  if (!frame.empty()) return InvalidError("an RPC frame has ", frame.size(), " extra bytes after the answer");
  return response;
}

}  // namespace tony::hadoop
