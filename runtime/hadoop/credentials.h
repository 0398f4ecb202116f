// Reads and writes integers as Java does, the most significant byte first, and Hadoop's variable-length integers
// (WritableUtils). A variable-length number from -112 to 127 takes one byte. For other numbers, the first byte contains
// sign and length, and up to eight bytes follow. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/base/time.h"

namespace tony::hadoop {

// Reads all of `bytes`, which are one to eight. The highest bit of a signed number is its sign.
uint64_t BigEndian(std::string_view bytes);
int64_t SignedBigEndian(std::string_view bytes);
void AppendBigEndian(std::string& to, uint64_t number, size_t size);

void AppendVint(std::string& to, int64_t value);

// `ByteReader` reads bytes from the front of a buffer. A getter returns nullopt if the rest of the buffer is too short
// or malformed. The position is undefined after that.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  size_t left() const { return left_.size(); }
  std::optional<unsigned char> Byte();
  std::optional<std::string_view> Bytes(uint64_t count);
  std::optional<int64_t> Vint();
  // Returns the bytes that follow a length, which is a Vint.
  std::optional<std::string_view> VintBytes();
  // Reads an integer of protocol buffers: seven bits per byte, the lowest first.
  std::optional<uint64_t> Varint();

 private:
  std::string_view left_;
};

// Tokens and secrets in the form in which Hadoop passes them to processes: the content of $HADOOP_TOKEN_FILE_LOCATION,
// and the `tokens` of a launch context. Values; pure functions. Never log them: a token is as good as a password.
//
// The bytes are "HDTS", a format byte, and one of:
//   0: count, each token {alias, identifier, password, kind, service}, count, each secret {alias, bytes}. Each count
//      and length is one of Hadoop's variable-length integers (see AppendVint)
//   1: the length and the bytes of CredentialsProto, a message of protocol buffers
// Both formats are read. Format 0 is written, as Hadoop's own daemons do.

struct Token {
  // Bytes that only the issuer of the token understands.
  std::string identifier;
  std::string password;  // bytes
  std::string kind;      // e.g. "YARN_AM_RM_TOKEN"
  // Server that accepts the token, such as "10.0.0.1:8030". May be empty.
  std::string service;
  bool operator==(const Token&) const = default;
};

struct Credentials {
  std::map<std::string, Token> tokens;         // key: alias, may be empty
  std::map<std::string, std::string> secrets;  // key: alias; value: bytes
  bool operator==(const Credentials&) const = default;
};

std::string EncodeCredentials(const Credentials& credentials);

// The kind of a token for HDFS. WebHDFS issues and accepts such a token under another kind.
inline constexpr char kHdfsTokenKind[] = "HDFS_DELEGATION_TOKEN";
// Returns the token for HDFS whose service is in `services`. If no service matches, the function returns any other
// token for HDFS. nullopt: no token is for HDFS.
std::optional<Token> HdfsTokenIn(const std::map<std::string, Token>& tokens, const std::set<std::string>& services);
// The kind of a token for a key management server, whose service is the URI of the server.
inline constexpr char kKmsTokenKind[] = "kms-dt";
// The kind of a token for clients of the ResourceManager.
inline constexpr char kRmTokenKind[] = "RM_DELEGATION_TOKEN";

// The times in the identifier of a delegation token, by the clock of its issuer.
struct TokenDates {
  Instant issued{};
  // The token cannot be renewed beyond this time.
  Instant longest{};
};
// Returns the dates of a token for HDFS or its key management server (AbstractDelegationTokenIdentifier). nullopt: the
// token is of another kind, or its identifier is malformed.
std::optional<TokenDates> DatesOf(const Token& token);

// Returns the user for whom a delegation token was made: a principal, or the name of an impersonated user. nullopt: its
// identifier is malformed.
std::optional<std::string> OwnerOf(const Token& token);

// Returns the token as text of letters, digits, "-" and "_", in which web servers send and receive it
// (Token.encodeToUrlString).
std::string TextOf(const Token& token);
// kInvalid: not such a text. The message does not quote it.
Result<Token> TokenFromText(std::string_view text);
// Converts bytes to such a text, which is base64 with other signs, and back; nullopt: the text has another sign.
std::string UrlTextOf(std::string_view bytes);
std::optional<std::string> BytesFromUrlText(std::string_view text);

// Returns kInvalid if the bytes are not credentials. The message quotes none of the bytes. If an alias occurs twice,
// the last one counts. Bytes behind the end are ignored. Both rules are Hadoop's.
Result<Credentials> DecodeCredentials(std::string_view bytes);

}  // namespace tony::hadoop
