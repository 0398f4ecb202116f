// DIGEST-MD5 (RFC 2831) as Hadoop uses it to check a token: user and password are the token's identifier and password
// in base64. Pure functions. OpenSSL is behind them, in digest_md5.cc alone.
//
// Only the quality of protection `auth` is spoken: what comes after the exchange is neither signed nor encrypted.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"

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

}  // namespace tony::hadoop
