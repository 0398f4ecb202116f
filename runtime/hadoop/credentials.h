// Tokens and secrets as Hadoop hands them around: the content of $HADOOP_TOKEN_FILE_LOCATION, and of a launch context's
// `tokens`. Values; pure functions. Nothing here is for a log: a token is as good as a password.
//
// The bytes are "HDTS", a format, then
//   0: count, each token {alias, identifier, password, kind, service}, count, each secret {alias, bytes}, where a count
//      or a length is one of Hadoop's variable-length integers (vint.h)
//   1: a message CredentialsProto of protocol buffers behind its length
// Both are read, 0 is written, as Hadoop's own daemons do.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::hadoop {

struct Token {
  std::string identifier;  // bytes that only who gave it understands
  std::string password;    // bytes
  std::string kind;        // "YARN_AM_RM_TOKEN"
  std::string service;     // whom it is for: "10.0.0.1:8030"; may be empty
  bool operator==(const Token&) const = default;
};

struct Credentials {
  std::map<std::string, Token> tokens;         // by alias, which may be empty
  std::map<std::string, std::string> secrets;  // bytes, by alias
  bool operator==(const Credentials&) const = default;
};

std::string EncodeCredentials(const Credentials& credentials);

// kInvalid for anything else, without a byte of it in the message. Of an alias that comes twice the last counts, and
// bytes behind the end are ignored, both as in Hadoop.
Result<Credentials> DecodeCredentials(std::string_view bytes);

}  // namespace tony::hadoop
