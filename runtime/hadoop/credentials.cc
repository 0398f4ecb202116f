#include "runtime/hadoop/credentials.h"

#include <utility>

namespace tony::hadoop {
namespace {

// If a number takes several bytes, its first byte is one of these constants minus the number of bytes that follow.
constexpr int kPositive = -112;
constexpr int kNegative = -120;

}  // namespace

uint64_t BigEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

int64_t SignedBigEndian(std::string_view bytes) {
  const size_t unused_bits = 64 - 8 * bytes.size();
  return static_cast<int64_t>(BigEndian(bytes) << unused_bits) >> unused_bits;
}

void AppendBigEndian(std::string& to, uint64_t number, size_t size) {
  while (size-- > 0) to.push_back(static_cast<char>(number >> (8 * size)));
}

void AppendVint(std::string& to, int64_t value) {
  if (value >= kPositive && value <= 127) return to.push_back(static_cast<char>(value));
  const auto bits = static_cast<uint64_t>(value < 0 ? ~value : value);
  int count = 1;
  while (count < 8 && (bits >> (8 * count)) != 0) ++count;
  to.push_back(static_cast<char>((value < 0 ? kNegative : kPositive) - count));
  AppendBigEndian(to, bits, static_cast<size_t>(count));
}

std::optional<unsigned char> ByteReader::Byte() {
  const auto byte = Bytes(1);
  if (!byte) return std::nullopt;
  return static_cast<unsigned char>(byte->front());
}

std::optional<std::string_view> ByteReader::Bytes(uint64_t count) {
  if (count > left_.size()) return std::nullopt;
  const std::string_view bytes = left_.substr(0, count);
  left_.remove_prefix(count);
  return bytes;
}

std::optional<int64_t> ByteReader::Vint() {
  const auto first = Byte();
  if (!first) return std::nullopt;
  const int head = static_cast<signed char>(*first);
  if (head >= kPositive) return head;
  const bool negative = head < kNegative;
  const auto bytes = Bytes(static_cast<uint64_t>((negative ? kNegative : kPositive) - head));
  if (!bytes) return std::nullopt;
  const uint64_t bits = BigEndian(*bytes);
  return static_cast<int64_t>(negative ? ~bits : bits);
}

std::optional<std::string_view> ByteReader::VintBytes() {
  const auto length = Vint();
  if (!length || *length < 0) return std::nullopt;
  return Bytes(static_cast<uint64_t>(*length));
}

std::optional<uint64_t> ByteReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = Byte();
    if (!byte) return std::nullopt;
    value |= static_cast<uint64_t>(*byte & 0x7f) << shift;
    if ((*byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kMagic = "HDTS";
constexpr unsigned char kWritable = 0;
constexpr unsigned char kProtobuf = 1;

void AppendBytes(std::string& to, std::string_view bytes) {
  AppendVint(to, static_cast<int64_t>(bytes.size()));
  to.append(bytes);
}

bool ReadString(ByteReader& from, std::string& to) {
  const auto bytes = from.VintBytes();
  if (bytes) to = *bytes;
  return bytes.has_value();
}

bool ReadToken(ByteReader& from, Token& token) {
  return ReadString(from, token.identifier) && ReadString(from, token.password) && ReadString(from, token.kind) &&
         ReadString(from, token.service);
}

// Reads format 0. If a count is too high, the loop stops at the end of the bytes, because each entry consumes bytes.
std::optional<Credentials> ReadWritable(ByteReader from) {
  Credentials credentials;
  const auto tokens = from.Vint();
  if (!tokens || *tokens < 0) return std::nullopt;
  for (int64_t i = 0; i < *tokens; ++i) {
    std::string alias;
    Token token;
    if (!ReadString(from, alias) || !ReadToken(from, token)) return std::nullopt;
    credentials.tokens[alias] = std::move(token);
  }
  const auto secrets = from.Vint();
  if (!secrets || *secrets < 0) return std::nullopt;
  for (int64_t i = 0; i < *secrets; ++i) {
    std::string alias, secret;
    if (!ReadString(from, alias) || !ReadString(from, secret)) return std::nullopt;
    credentials.secrets[alias] = std::move(secret);
  }
  return credentials;
}

// A field of a message: its number and, if it has a length, its bytes.
struct Field {
  uint64_t number = 0;
  std::optional<std::string_view> bytes;
};

std::optional<Field> ReadField(ByteReader& from) {
  const auto tag = from.Varint();
  if (!tag) return std::nullopt;
  Field field{*tag >> 3, std::nullopt};
  bool whole = false;
  switch (*tag & 7) {
    case 0:
      whole = from.Varint().has_value();
      break;
    case 1:
      whole = from.Bytes(8).has_value();
      break;
    case 2:
      if (const auto length = from.Varint()) field.bytes = from.Bytes(*length);
      whole = field.bytes.has_value();
      break;
    case 5:
      whole = from.Bytes(4).has_value();
      break;
    default:
      break;
  }
  if (!whole) return std::nullopt;
  return field;
}

// Calls `take` with each field that has bytes. Returns false if `bytes` is not a message, or `take` returned false.
template <class Take>
bool ReadMessage(std::string_view bytes, Take take) {
  ByteReader from(bytes);
  while (from.left() > 0) {
    const auto field = ReadField(from);
    if (!field || (field->bytes && !take(field->number, *field->bytes))) return false;
  }
  return true;
}

bool ReadTokenMessage(std::string_view bytes, Token& token) {
  std::string* const fields[] = {&token.identifier, &token.password, &token.kind, &token.service};
  return ReadMessage(bytes, [&](uint64_t number, std::string_view value) {
    if (number >= 1 && number <= 4) *fields[number - 1] = value;
    return true;
  });
}

struct Entry {
  std::string alias;
  Token token;
  std::string secret;
};

bool ReadEntryMessage(std::string_view bytes, Entry& entry) {
  return ReadMessage(bytes, [&](uint64_t number, std::string_view value) {
    if (number == 1) entry.alias = value;
    if (number == 3) entry.secret = value;
    return number != 2 || ReadTokenMessage(value, entry.token);
  });
}

std::optional<Credentials> ReadProtobuf(ByteReader from) {
  const auto length = from.Varint();
  const auto message = length ? from.Bytes(*length) : std::nullopt;
  if (!message) return std::nullopt;
  Credentials credentials;
  const bool whole = ReadMessage(*message, [&](uint64_t number, std::string_view value) {
    Entry entry;
    if (!ReadEntryMessage(value, entry)) return false;
    if (number == 1) credentials.tokens[entry.alias] = std::move(entry.token);
    if (number == 2) credentials.secrets[entry.alias] = std::move(entry.secret);
    return true;
  });
  if (!whole) return std::nullopt;
  return credentials;
}

Error Refused(std::string why) { return InvalidError("credentials: " + std::move(why)); }

}  // namespace

std::string EncodeCredentials(const Credentials& credentials) {
  std::string bytes(kMagic);
  bytes.push_back(static_cast<char>(kWritable));
  AppendVint(bytes, static_cast<int64_t>(credentials.tokens.size()));
  for (const auto& [alias, token] : credentials.tokens) {
    for (const std::string& part : {alias, token.identifier, token.password, token.kind, token.service})
      AppendBytes(bytes, part);
  }
  AppendVint(bytes, static_cast<int64_t>(credentials.secrets.size()));
  for (const auto& [alias, secret] : credentials.secrets) {
    AppendBytes(bytes, alias);
    AppendBytes(bytes, secret);
  }
  return bytes;
}

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int kBitsOfDigit = 6;

}  // namespace

std::string UrlTextOf(std::string_view bytes) {
  std::string digits;
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= kBitsOfDigit; count -= kBitsOfDigit)
      digits.push_back(kDigits[(bits >> (count - kBitsOfDigit)) & 63]);
  }
  if (count > 0) digits.push_back(kDigits[(bits << (kBitsOfDigit - count)) & 63]);
  return digits;
}

std::optional<std::string> BytesFromUrlText(std::string_view digits) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char digit : digits) {
    const size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << kBitsOfDigit | static_cast<uint32_t>(value);
    count += kBitsOfDigit;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count));
  }
  return bytes;
}

std::optional<Token> HdfsTokenIn(const std::map<std::string, Token>& tokens, const std::set<std::string>& services) {
  std::optional<Token> found;
  for (const auto& [alias, token] : tokens) {
    if (token.kind != kHdfsTokenKind && !token.kind.ends_with("WEBHDFS delegation")) continue;
    if (services.contains(token.service)) return token;
    if (!found) found = token;
  }
  return found;
}

std::optional<TokenDates> DatesOf(const Token& token) {
  if (token.kind != kHdfsTokenKind && token.kind != kKmsTokenKind) return std::nullopt;
  ByteReader from(token.identifier);
  // The version is followed by owner, renewer and real user.
  bool whole = from.Byte().has_value();
  for (int i = 0; i < 3; ++i) whole = whole && from.VintBytes();
  const auto issued = whole ? from.Vint() : std::nullopt;
  const auto longest = issued ? from.Vint() : std::nullopt;
  constexpr int64_t kLatest = int64_t{1} << 50;
  if (!longest || *issued < 0 || *longest < *issued || *longest > kLatest) return std::nullopt;
  return TokenDates{FromMillis(*issued), FromMillis(*longest)};
}

std::optional<std::string> OwnerOf(const Token& token) {
  ByteReader from(token.identifier);
  const auto owner = from.Byte() ? from.VintBytes() : std::nullopt;
  if (!owner || owner->empty()) return std::nullopt;
  return std::string(*owner);
}

std::string TextOf(const Token& token) {
  std::string bytes;
  for (const std::string& part : {token.identifier, token.password, token.kind, token.service})
    AppendBytes(bytes, part);
  return UrlTextOf(bytes);
}

Result<Token> TokenFromText(std::string_view text) {
  const auto bytes = BytesFromUrlText(text);
  Token token;
  if (!bytes) return InvalidError("the text of a token has a character that is not allowed");
  ByteReader from(*bytes);
  if (!ReadToken(from, token) || from.left() > 0) return InvalidError("the text of a token is damaged or cut off");
  return token;
}

Result<Credentials> DecodeCredentials(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return Refused("the bytes do not begin with HDTS");
  ByteReader from(bytes.substr(kMagic.size()));
  const auto format = from.Byte();
  if (!format || (*format != kWritable && *format != kProtobuf)) return Refused("the format is unknown");
  auto credentials = *format == kWritable ? ReadWritable(from) : ReadProtobuf(from);
  if (!credentials) return Refused("the bytes are damaged or cut off");
  return *std::move(credentials);
}

}  // namespace tony::hadoop
