#include "runtime/history/crc32.h"

#include <array>
#include <bit>
#include <cstring>

namespace tony {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;

// Row n: what a byte does to the checksum when n more bytes follow. Eight rows take eight bytes in one step, which is
// four times as fast as one at a time: the history's reader checks some 20 MB while a person waits.
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables MakeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t row = 1; row < tables.size(); ++row) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[row - 1][byte];
      tables[row][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();
static_assert(std::endian::native == std::endian::little);

}  // namespace

uint32_t Crc32(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t part;
    std::memcpy(&part, bytes.data(), sizeof part);
    part ^= crc;
    crc = 0;
    for (int i = 0; i < 8; ++i) crc ^= kTables[7 - i][(part >> (8 * i)) & 0xFF];
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace tony
