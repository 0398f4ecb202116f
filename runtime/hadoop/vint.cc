#include "runtime/hadoop/vint.h"

namespace tony::hadoop {
namespace {

// The first byte of a number in more than one: these, less the count of bytes that follow.
constexpr int kPositive = -112;
constexpr int kNegative = -120;

}  // namespace

void AppendVint(std::string& to, int64_t value) {
  if (value >= kPositive && value <= 127) return to.push_back(static_cast<char>(value));
  const auto bits = static_cast<uint64_t>(value < 0 ? ~value : value);
  int count = 1;
  while (count < 8 && (bits >> (8 * count)) != 0) ++count;
  to.push_back(static_cast<char>((value < 0 ? kNegative : kPositive) - count));
  for (int i = count - 1; i >= 0; --i) to.push_back(static_cast<char>(bits >> (8 * i)));
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
  uint64_t bits = 0;
  for (const char c : *bytes) bits = (bits << 8) | static_cast<unsigned char>(c);
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

}  // namespace tony::hadoop
