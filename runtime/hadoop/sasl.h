// DIGEST-MD5 (RFC 2831) as Hadoop uses it to check a token: user and password are the token's identifier and password
// in base64. Pure functions. OpenSSL is behind them, in sasl.cc alone.
//
// Only the quality of protection `auth` is spoken: what comes after the exchange is neither signed nor encrypted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/wire/rpc.pb.h"

namespace tony::hadoop {

struct DigestInput {
  std::string user;
  std::string password;
  std::string realm;
  std::string nonce;         // the server's
  std::string client_nonce;  // ours, new each time
  std::string uri;           // protocol/server
  std::string qop;           // "auth"; of "auth-int" and "auth-conf" only the proofs are computed
};
// 32 hexadecimal digits each.
struct DigestProofs {
  std::string client;  // that we know the password
  std::string server;  // that the server does
};
// kInternal: this OpenSSL refuses MD5, as in FIPS mode.
Result<DigestProofs> ProveDigest(const DigestInput& input);

struct DigestAnswer {
  std::string response;      // to the challenge
  std::string server_proof;  // what the server has to answer: "rspauth=..."
};
// kInvalid: no challenge that we understand. kNotPermitted: the server wants `auth-int` or `auth-conf`.
Result<DigestAnswer> AnswerDigest(const Token& token, std::string_view challenge, const std::string& uri,
                                  const std::string& client_nonce);

std::string Base64(std::string_view bytes);  // with padding, in one line

// How a client proves to a Hadoop server that it holds a token. Pure; private to this folder, since it shows protobuf.
//
//   client: NEGOTIATE ->  server: NEGOTIATE {what it accepts, with a challenge}
//   client: INITIATE {the answer} ->  server: SUCCESS {its own proof}

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
