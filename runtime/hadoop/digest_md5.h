// DIGEST-MD5 (RFC 2831) as Hadoop uses it to check a token, and to protect the messages after that. Pure, except for
// NewClientNonce() and the layers, which count messages. Only digest_md5.cc uses OpenSSL, which may refuse MD5 or 3DES
// on a machine, as in FIPS mode: kInternal.
//
//   protection              quality of protection (qop)   each message after the exchange
//   authentication          auth                          is sent as it is
//   integrity               auth-int                      is signed (HMAC-MD5)
//   privacy                 auth-conf                     is signed, then encrypted (3DES)
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/hadoop/credentials.h"
#include "runtime/hadoop/sasl.h"

namespace tony::hadoop {

struct DigestLogin {
  std::string user;
  std::string password;
};
DigestLogin LoginOf(const Token& token);  // identifier and password in base64

// `client_nonce` must be printable and must never have been used before.
std::unique_ptr<SaslMechanism> MakeDigestMechanism(DigestLogin login, std::string client_nonce);
std::string NewClientNonce();  // random

struct DigestInput {
  std::string user;
  std::string password;
  std::string realm;
  std::string nonce;         // the server's nonce
  std::string client_nonce;  // our nonce, new each time
  std::string uri;           // "PROTOCOL/SERVER"
  std::string qop;
};
struct DigestProofs {
  // The proofs of the password have 32 hexadecimal digits.
  std::string client;
  std::string server;
  // Only both sides know these 16 bytes, called H(A1) in RFC 2831.
  std::string session_key;
};
Result<DigestProofs> ProveDigest(const DigestInput& input);

struct DigestAnswer {
  std::string response;  // answer to the challenge
  // The proof that the server must send: "rspauth=...".
  std::string server_proof;
  // The layer that the server demands. Null: authentication only.
  std::unique_ptr<SaslLayer> layer;
};
// Answers a challenge of the server with the weakest protection that the server accepts. kInvalid: the challenge is
// malformed or names another algorithm. kNotPermitted: the server demands a protection or cipher that is not supported.
Result<DigestAnswer> AnswerDigest(const DigestLogin& login, std::string_view challenge, const std::string& uri,
                                  const std::string& client_nonce);

// Returns the layer of one side of a connection. Null if `qop` is "auth".
enum class DigestSide { kClient, kServer };
Result<std::unique_ptr<SaslLayer>> MakeDigestLayer(std::string_view session_key, std::string_view qop, DigestSide side);

std::string Base64(std::string_view bytes);  // with padding, without line breaks

}  // namespace tony::hadoop
