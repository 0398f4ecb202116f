// The SASL exchange at the start of a connection to a Hadoop server, and the protection of messages after it. Private
// to this folder, because it exposes protobuf types.
//
//   client: NEGOTIATE ->         server: NEGOTIATE {accepted methods, some with a challenge}
//   client: INITIATE {token} ->  server: SUCCESS {token}, or CHALLENGE {token}
//   client: RESPONSE {token} ->  server: SUCCESS {token}, or CHALLENGE {token}; this line is repeated
//
// `SaslExchange` follows this protocol. A `SaslMechanism` computes the tokens of one method (digest_md5.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/hadoop/wire/rpc.pb.h"

namespace tony::hadoop {

// Protects the bytes of one connection after the exchange. Every byte that one side sends passes through Wrap() of its
// layer, and then through Unwrap() of the other side's layer, in the same order. After an error the layer is unusable.
class SaslLayer {
 public:
  virtual ~SaslLayer() = default;
  // Returns the token that carries `bytes`, which are 1 to LongestWrap() bytes. kInternal: the library refuses.
  virtual Result<std::string> Wrap(std::string_view bytes) = 0;
  // Returns the bytes that a token of any length carries. kUnavailable: a token was changed, repeated or lost on its
  // way, so another connection may work.
  virtual Result<std::string> Unwrap(std::string_view token) = 0;
  virtual size_t LongestWrap() const = 0;
};

struct SaslMethod {
  std::string name;       // e.g. "TOKEN"
  std::string mechanism;  // e.g. "DIGEST-MD5"
  // The proof of identity that the client has, for messages, such as "token".
  std::string credential;
};

// Proves the identity of the client for one connection, and checks the server's proof. For each method the error
// kNotPermitted means that no retry helps, kUnavailable that a retry may help, and kInvalid that the server does not
// follow the protocol.
class SaslMechanism {
 public:
  virtual ~SaslMechanism() = default;
  virtual const SaslMethod& method() const = 0;
  // Returns the first token. `offer` is the server's entry for this method.
  virtual Result<std::string> Begin(const wire::RpcSasl::SaslAuth& offer) = 0;
  // Returns the answer to a later challenge. An empty answer is sent, too.
  virtual Result<std::string> Respond(std::string_view challenge) = 0;
  // Checks the token of SUCCESS, which is empty if the server sent none. Returns the layer that both sides agreed on;
  // null: authentication only. Called once.
  virtual Result<std::unique_ptr<SaslLayer>> Finish(std::string_view token) = 0;
};

// Drives one mechanism. Pure, except for the mechanism.
class SaslExchange {
 public:
  explicit SaslExchange(std::unique_ptr<SaslMechanism> mechanism) : mechanism_(std::move(mechanism)) {}

  // Returns the first message of the client.
  wire::RpcSasl Start() const;
  // Returns the answer to a message of the server; nullopt once both sides have proved who they are. kNotPermitted: the
  // server does not accept this method, or the mechanism refuses the server. kInvalid: the server does not follow the
  // protocol. kUnavailable: the mechanism's error, after which a retry may help.
  Result<std::optional<wire::RpcSasl>> Next(const wire::RpcSasl& message);
  // Returns the layer after the last message. Null: authentication only.
  std::unique_ptr<SaslLayer> TakeLayer() { return std::move(layer_); }

 private:
  enum class Stage { kNegotiating, kInitiated, kDone };
  Result<wire::RpcSasl> Initiate(const wire::RpcSasl& offer);

  std::unique_ptr<SaslMechanism> mechanism_;
  std::unique_ptr<SaslLayer> layer_;
  Stage stage_ = Stage::kNegotiating;
};

}  // namespace tony::hadoop
