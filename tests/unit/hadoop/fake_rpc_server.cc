#include "tests/unit/hadoop/fake_rpc_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "runtime/base/strings.h"
#include "runtime/hadoop/digest_md5.h"
#include "runtime/hadoop/rpc_frames.h"

namespace tony::hadoop {
namespace {

constexpr size_t kHeaderSize = 7;
constexpr char kServerNonce[] = "server-nonce";

wire::RpcResponseHeader AnswerTo(int32_t call_id, wire::RpcResponseHeader::RpcStatusProto status) {
  wire::RpcResponseHeader header;
  header.set_callid(static_cast<uint32_t>(call_id));
  header.set_status(status);
  return header;
}

std::string Between(const std::string& text, const std::string& before, char after) {
  const size_t at = text.find(before) + before.size();
  return text.substr(at, text.find(after, at) - at);
}

}  // namespace

FakeRpcServer::FakeRpcServer(EventLoop& loop, std::optional<Token> token, int port)
    : loop_(loop), token_(std::move(token)) {
  auto listener = Listener::Open(loop, "127.0.0.1", port, [this](UniqueFd socket) { Accept(std::move(socket)); });
  EXPECT_TRUE(listener.ok());
  listener_ = *std::move(listener);
}

void FakeRpcServer::Accept(UniqueFd socket) {
  const int connection = ++connections;
  Peer& peer = peers_[connection];
  peer.socket = std::move(socket);
  peer.readable = loop_.WhenReadable(peer.socket.get(), [this, connection] { OnReadable(connection); });
}

void FakeRpcServer::OnReadable(int connection) {
  Peer& peer = peers_.at(connection);
  std::array<char, 65536> chunk;
  const ssize_t got = ::recv(peer.socket.get(), chunk.data(), chunk.size(), 0);
  if (got <= 0) {
    peers_.erase(connection);
    return;
  }
  std::string_view bytes(chunk.data(), static_cast<size_t>(got));
  const size_t head = std::min(kHeaderSize - peer.head.size(), bytes.size());
  peer.head += bytes.substr(0, head);
  header = peer.head;
  peer.cutter.Add(bytes.substr(head));
  CutFrames(connection, &Peer::cutter);
}

void FakeRpcServer::CutFrames(int connection, FrameCutter Peer::*cutter) {
  while (peers_.count(connection)) {
    const auto frame = (peers_.at(connection).*cutter).Next();
    ASSERT_TRUE(frame.ok()) << frame.error().message;
    if (!*frame) return;
    OnFrame(connection, **frame);
  }
}

void FakeRpcServer::OnFrame(int connection, std::string_view frame) {
  if (is_mute) return;
  Call call{.connection = connection};
  ASSERT_TRUE(TakeMessage(frame, call.header).ok());
  if (call.header.callid() == kPingCallId) {
    ++pings;
  } else if (call.header.callid() == kSaslCallId) {
    wire::RpcSasl message;
    ASSERT_TRUE(TakeMessage(frame, message).ok());
    if (message.state() == wire::RpcSasl::WRAP) return OnWrapped(connection, message);
    OnSasl(connection, message);
  } else if (call.header.callid() == kContextCallId) {
    ASSERT_TRUE(TakeMessage(frame, contexts.emplace_back()).ok());
  } else {
    wire::RequestHeader method;
    ASSERT_TRUE(TakeMessage(frame, method).ok());
    ASSERT_FALSE(frame.empty());
    const size_t size_bytes =
        static_cast<size_t>(std::ranges::find_if(frame, [](char c) { return (c & 0x80) == 0; }) - frame.begin() + 1);
    call.method = method.methodname();
    call.protocol = method.declaringclassprotocolname();
    call.request = frame.substr(size_bytes);
    calls.push_back(call);
    on_call(call);
  }
}

wire::RpcSasl FakeRpcServer::Offer() const {
  wire::RpcSasl offer;
  offer.set_state(wire::RpcSasl::NEGOTIATE);
  auto& auth = *offer.add_auths();
  auth.set_method("TOKEN");
  auth.set_mechanism("DIGEST-MD5");
  auth.set_protocol("");
  auth.set_serverid("default");
  auth.set_challenge(StrCat("realm=\"default\",nonce=\"", kServerNonce, "\",qop=\"", challenge_qop,
                            "\",charset=utf-8,cipher=\"3des,rc4\",algorithm=md5-sess"));
  return offer;
}

void FakeRpcServer::OnSasl(int connection, const wire::RpcSasl& message) {
  if (message.state() == wire::RpcSasl::NEGOTIATE) return SendSasl(connection, Offer());
  ASSERT_EQ(message.state(), wire::RpcSasl::INITIATE);
  wire::RpcSasl expected = Offer();
  expected.mutable_auths(0)->clear_challenge();
  ASSERT_EQ(message.auths_size(), 1);
  EXPECT_EQ(message.auths(0).SerializeAsString(), expected.auths(0).SerializeAsString());
  const DigestInput input{Base64(token_->identifier),
                          Base64(token_->password),
                          "default",
                          kServerNonce,
                          Between(message.token(), "cnonce=\"", '"'),
                          "/default",
                          challenge_qop};
  const DigestProofs proofs = *ProveDigest(input);
  if (Between(message.token(), "response=", ',') != proofs.client) {
    Call call{.connection = connection};
    call.header.set_callid(kSaslCallId);
    return Fail(call, "org.apache.hadoop.security.token.SecretManager$InvalidToken", "Invalid AMRMToken\n\tat X", true);
  }
  wire::RpcSasl success;
  success.set_state(wire::RpcSasl::SUCCESS);
  success.set_token("rspauth=" + (knows_password ? proofs.server : proofs.client));
  SendSasl(connection, success);
  peers_.at(connection).layer = *MakeDigestLayer(proofs.session_key, challenge_qop, DigestSide::kServer);
}

void FakeRpcServer::OnWrapped(int connection, const wire::RpcSasl& message) {
  Peer& peer = peers_.at(connection);
  ASSERT_TRUE(peer.layer);
  const auto bytes = peer.layer->Unwrap(message.token());
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  wrapped.push_back(bytes->size());
  peer.unwrapped.Add(*bytes);
  CutFrames(connection, &Peer::unwrapped);
}

void FakeRpcServer::SendSasl(int connection, const wire::RpcSasl& message) {
  const auto answer = AnswerTo(kSaslCallId, wire::RpcResponseHeader::SUCCESS);
  SendRaw(connection, FrameOf({&answer, &message}));
}

void FakeRpcServer::Succeed(const Call& call, const google::protobuf::MessageLite& response) {
  const auto answer = AnswerTo(call.header.callid(), wire::RpcResponseHeader::SUCCESS);
  Send(call.connection, FrameOf({&answer, &response}));
}

void FakeRpcServer::Fail(const Call& call, const std::string& exception, const std::string& message, bool fatal) {
  auto answer = AnswerTo(call.header.callid(), fatal ? wire::RpcResponseHeader::FATAL : wire::RpcResponseHeader::ERROR);
  answer.set_exceptionclassname(exception);
  answer.set_errormsg(message);
  Send(call.connection, FrameOf({&answer}));
}

void FakeRpcServer::SendRaw(int connection, const std::string& bytes) {
  const auto peer = peers_.find(connection);
  ASSERT_NE(peer, peers_.end()) << "the client has gone";
  peer->second.unsent += bytes;
  Flush(connection);
}

void FakeRpcServer::Flush(int connection) {
  Peer& peer = peers_.at(connection);
  const ssize_t sent = ::send(peer.socket.get(), peer.unsent.data(), peer.unsent.size(), MSG_NOSIGNAL);
  if (sent > 0) peer.unsent.erase(0, static_cast<size_t>(sent));
  peer.writable.reset();
  if (!peer.unsent.empty())
    peer.writable = loop_.WhenWritable(peer.socket.get(), [this, connection] { Flush(connection); });
}

std::string FakeRpcServer::Wrapped(int connection, const std::string& bytes) {
  const auto answer = AnswerTo(kSaslCallId, wire::RpcResponseHeader::SUCCESS);
  const auto message = SaslMessage(wire::RpcSasl::WRAP, *peers_.at(connection).layer->Wrap(bytes));
  return FrameOf({&answer, &message});
}

// The layer of a server wraps each answer whole, whatever its size.
void FakeRpcServer::Send(int connection, const std::string& bytes) {
  const auto peer = peers_.find(connection);
  const bool is_protected = peer != peers_.end() && peer->second.layer;
  SendRaw(connection, is_protected ? Wrapped(connection, bytes) : bytes);
}

void FakeRpcServer::CloseAll() { peers_.clear(); }

}  // namespace tony::hadoop
