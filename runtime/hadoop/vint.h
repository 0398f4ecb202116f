// Hadoop's variable-length integers (WritableUtils): one byte for -112 to 127, else a byte that says sign and length,
// and up to eight bytes, the highest first. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace tony::hadoop
