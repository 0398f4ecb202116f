// Hadoop's variable-length integers (WritableUtils): one byte for -112 to 127, else a byte that says sign and length,
// and up to eight bytes, the highest first. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony::hadoop {

void AppendVint(std::string& to, int64_t value);

// Reads bytes from the front. What a getter cannot get it takes no byte of, and says nothing.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  size_t left() const { return left_.size(); }
  std::optional<unsigned char> Byte();
  std::optional<std::string_view> Bytes(uint64_t count);
  std::optional<int64_t> Vint();
  std::optional<std::string_view> VintBytes();  // behind their length
  std::optional<uint64_t> Varint();             // of protocol buffers: seven bits a byte, the lowest first

 private:
  std::string_view left_;
};

// Tokens and secrets as Hadoop hands them around: the content of $HADOOP_TOKEN_FILE_LOCATION, and of a launch context's
// `tokens`. Values; pure functions. Nothing here is for a log: a token is as good as a password.
//
// The bytes are "HDTS", a format, then
//   0: count, each token {alias, identifier, password, kind, service}, count, each secret {alias, bytes}, where a count
//      or a length is one of Hadoop's variable-length integers (credentials.h)
//   1: a message CredentialsProto of protocol buffers behind its length
// Both are read, 0 is written, as Hadoop's own daemons do.

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
