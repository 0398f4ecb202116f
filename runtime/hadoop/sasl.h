// DIGEST-MD5 (RFC 2831) as Hadoop uses it to check a token. User and password are the token's identifier and password
// in base64. Pure functions. Only sasl.cc uses OpenSSL.
//
// The only supported quality of protection is `auth`: messages after the exchange are neither signed nor encrypted.
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
  std::string nonce;         // the server's nonce
  std::string client_nonce;  // our nonce, new each time
  std::string uri;           // "PROTOCOL/SERVER"
  // Quality of protection: "auth" in every exchange. ProveDigest() also accepts "auth-int" and "auth-conf".
  std::string qop;
};
// Each proof has 32 hexadecimal digits.
struct DigestProofs {
  std::string client;  // client's proof of the password
  std::string server;  // server's proof of the password
};
// Computes both proofs. kInternal: OpenSSL refuses MD5 on this machine, as in FIPS mode.
Result<DigestProofs> ProveDigest(const DigestInput& input);

struct DigestAnswer {
  std::string response;  // answer to the challenge
  // The proof that the server must send: "rspauth=...".
  std::string server_proof;
};
// Answers a challenge of the server. kInvalid: the challenge is malformed or names another algorithm. kNotPermitted:
// the server demands `auth-int` or `auth-conf`.
Result<DigestAnswer> AnswerDigest(const Token& token, std::string_view challenge, const std::string& uri,
                                  const std::string& client_nonce);

std::string Base64(std::string_view bytes);  // with padding, without line breaks

// `SaslExchange` proves to a Hadoop server that the client has a token. Pure. Private to this folder, because it
// exposes protobuf types.
//
//   client: NEGOTIATE ->  server: NEGOTIATE {accepted methods, with a challenge}
//   client: INITIATE {the answer} ->  server: SUCCESS {its own proof}

class SaslExchange {
 public:
  // `client_nonce` must be printable and must never have been used before.
  SaslExchange(Token token, std::string client_nonce);

  // Returns the first message of the client.
  wire::RpcSasl Start() const;
  // Returns the answer to a message of the server; nullopt once both sides have proved who they are. kNotPermitted: the
  // server accepts no token, does not know its password, or demands more than authentication. kInvalid: the server does
  // not follow the protocol.
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
