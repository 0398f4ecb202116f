// How a client proves to a Hadoop server that it holds a token. Pure; private to this folder, since it shows protobuf.
//
//   client: NEGOTIATE ->  server: NEGOTIATE {what it accepts, with a challenge}
//   client: INITIATE {the answer} ->  server: SUCCESS {its own proof}
#pragma once

#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/wire/rpc.pb.h"

namespace tony::hadoop {

class SaslExchange {
 public:
  // `client_nonce`: printable, and never used before.
  SaslExchange(Token token, std::string client_nonce);

  wire::RpcSasl Start() const;  // the first message
  // The answer to a message of the server's; nothing: both sides are who they say. kNotPermitted: the server takes no
  // token, or does not know its password, or wants more than authentication. kInvalid: it does not follow the protocol.
  Result<std::optional<wire::RpcSasl>> Next(const wire::RpcSasl& message);

 private:
  enum class Stage { kNegotiating, kInitiated, kDone };
  Result<wire::RpcSasl> Initiate(const wire::RpcSasl& offer);
  Status CheckSuccess(const wire::RpcSasl& message);

  Token token_;
  std::string client_nonce_;
  Stage stage_ = Stage::kNegotiating;
  std::string server_proof_;
};

}  // namespace tony::hadoop
