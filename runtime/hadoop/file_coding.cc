#include "runtime/hadoop/file_coding.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/net/tls.h"

namespace tony::hadoop {
namespace {

// The number of units fits into the lowest four bits of a block's id.
constexpr int kMostUnits = 16;
constexpr uint64_t kLargestCell = 64 << 20;

// The field of 256 elements as polynomials modulo x^8 + x^4 + x^3 + x^2 + 1, by the powers of x.
struct PowerTables {
  std::array<uint8_t, 512> power{};
  std::array<uint8_t, 256> exponent{};
};

constexpr PowerTables MakePowerTables() {
  PowerTables tables;
  unsigned value = 1;
  for (unsigned i = 0; i < 255; ++i) {
    tables.power[i] = tables.power[i + 255] = static_cast<uint8_t>(value);
    tables.exponent[value] = static_cast<uint8_t>(i);
    value <<= 1;
    if (value > 255) value ^= 0x11d;
  }
  return tables;
}
constexpr PowerTables kPowers = MakePowerTables();

uint8_t Product(uint8_t a, uint8_t b) {
  return a == 0 || b == 0 ? 0 : kPowers.power[size_t{kPowers.exponent[a]} + kPowers.exponent[b]];
}
uint8_t Inverse(uint8_t a) { return kPowers.power[255 - kPowers.exponent[a]]; }

using Row = std::vector<uint8_t>;

// Returns the factors by which a unit is the sum of the data units. RS has a Cauchy matrix.
Row FactorsOf(const ErasureCoding& coding, int unit) {
  Row row(static_cast<size_t>(coding.data));
  for (int i = 0; i < coding.data; ++i) {
    const bool is_parity = unit >= coding.data;
    row[static_cast<size_t>(i)] = !is_parity                ? static_cast<uint8_t>(unit == i)
                                  : coding.codec == "xor" ? uint8_t{1}
                                                          : Inverse(static_cast<uint8_t>(unit ^ i));
  }
  return row;
}

void AddMultiple(Row& to, const Row& from, uint8_t factor) {
  for (size_t i = 0; i < to.size(); ++i) to[i] ^= Product(factor, from[i]);
}

// Returns the inverse of a matrix whose rows are independent, as any rows of a coding are.
std::vector<Row> InverseOf(std::vector<Row> matrix) {
  const size_t size = matrix.size();
  std::vector<Row> inverse(size, Row(size));
  for (size_t i = 0; i < size; ++i) inverse[i][i] = 1;
  for (size_t column = 0; column < size; ++column) {
    size_t pivot = column;
    while (matrix[pivot][column] == 0) CHECK(++pivot < size);
    std::swap(matrix[column], matrix[pivot]);
    std::swap(inverse[column], inverse[pivot]);
    const auto scale = static_cast<uint8_t>(Inverse(matrix[column][column]) ^ 1);
    AddMultiple(inverse[column], Row(inverse[column]), scale);
    AddMultiple(matrix[column], Row(matrix[column]), scale);
    for (size_t row = 0; row < size; ++row) {
      if (row == column) continue;
      const uint8_t factor = matrix[row][column];
      AddMultiple(inverse[row], inverse[column], factor);
      AddMultiple(matrix[row], matrix[column], factor);
    }
  }
  return inverse;
}

}  // namespace

Result<ErasureCoding> BuiltInErasureCoding(uint32_t id) {
  constexpr uint64_t kCell = 1 << 20;
  switch (id) {
    case 1:
      return ErasureCoding{"rs", 6, 3, kCell};
    case 2:
      return ErasureCoding{"rs", 3, 2, kCell};
    case 3:
      return ErasureCoding{"rs-legacy", 6, 3, kCell};
    case 4:
      return ErasureCoding{"xor", 2, 1, kCell};
    case 5:
      return ErasureCoding{"rs", 10, 4, kCell};
    default:
      return InvalidError("the erasure coding policy ", id, " is not known");
  }
}

Status CheckErasureCoding(const ErasureCoding& coding) {
  if (coding.data > 0 && coding.parity > 0 && coding.data <= kMostUnits && coding.parity <= kMostUnits &&
      coding.data + coding.parity <= kMostUnits && coding.cell > 0 && coding.cell <= kLargestCell)
    return Ok();
  return InvalidError("an erasure coding of ", coding.data, " and ", coding.parity, " units with cells of ",
                      coding.cell, " bytes is not supported");
}

CellPlace PlaceOf(const ErasureCoding& coding, uint64_t offset_in_group) {
  const uint64_t number = offset_in_group / coding.cell, in_cell = offset_in_group % coding.cell;
  const auto units = static_cast<uint64_t>(coding.data);
  return {static_cast<int>(number % units), number / units * coding.cell + in_cell, coding.cell - in_cell};
}

uint64_t UnitLength(const ErasureCoding& coding, uint64_t group_length, int unit) {
  const uint64_t stripe = coding.cell * static_cast<uint64_t>(coding.data);
  // A parity cell is as long as the longest cell of its stripe, which is the first one.
  const uint64_t before = coding.cell * static_cast<uint64_t>(unit < coding.data ? unit : 0);
  const uint64_t rest = group_length % stripe;
  return group_length / stripe * coding.cell + (rest > before ? std::min(rest - before, coding.cell) : 0);
}

Result<std::string> RestoreUnit(const ErasureCoding& coding, int lost, const std::map<int, std::string>& units) {
  if (coding.codec != "rs" && coding.codec != "xor")
    return UnavailableError("a part of the file is lost, and TonY cannot restore it with the codec ", coding.codec);
  CHECK(units.size() == static_cast<size_t>(coding.data));
  std::vector<Row> factors;
  for (const auto& [unit, bytes] : units) factors.push_back(FactorsOf(coding, unit));
  const Row row = InverseOf(std::move(factors))[static_cast<size_t>(lost)];
  std::string restored(units.begin()->second.size(), '\0');
  size_t index = 0;
  for (const auto& [unit, bytes] : units) {
    const uint8_t factor = row[index++];
    if (factor == 0) continue;
    for (size_t i = 0; i < restored.size(); ++i)
      restored[i] = static_cast<char>(restored[i] ^ Product(factor, static_cast<uint8_t>(bytes[i])));
  }
  return restored;
}

namespace {

constexpr size_t kAesBlock = 16;

const EVP_CIPHER* CipherFor(size_t key_size) {
  return key_size == 16 ? EVP_aes_128_ctr() : key_size == 24 ? EVP_aes_192_ctr() : EVP_aes_256_ctr();
}

}  // namespace

Result<FileCipher> FileCipher::Make(std::string key, std::string first_counter) {
  if ((key.size() != 16 && key.size() != 24 && key.size() != 32) || first_counter.size() != kAesBlock)
    return InvalidError("a key of ", key.size(), " bytes with a first counter of ", first_counter.size(),
                        " bytes is not one of AES");
  return FileCipher(std::move(key), std::move(first_counter));
}

Status FileCipher::Apply(std::string& bytes, uint64_t offset) const {
  std::string counter = first_counter_;
  uint64_t carry = offset / kAesBlock;
  for (size_t i = kAesBlock; i-- > 0 && carry > 0;) {
    carry += static_cast<unsigned char>(counter[i]);
    counter[i] = static_cast<char>(carry);
    carry >>= 8;
  }
  // The bytes before `offset` in its block use up the first bytes of the stream.
  std::string skipped(offset % kAesBlock, '\0');
  const auto data = [](std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); };
  std::string key = key_;
  const Owned<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> context(EVP_CIPHER_CTX_new());
  int size = 0;
  if (context && EVP_EncryptInit_ex(context.get(), CipherFor(key.size()), nullptr, data(key), data(counter)) == 1 &&
      EVP_EncryptUpdate(context.get(), data(skipped), &size, data(skipped), static_cast<int>(skipped.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), data(bytes), &size, data(bytes), static_cast<int>(bytes.size())) == 1)
    return Ok();
  return Error{ErrorCode::kInternal, "OpenSSL refuses AES on this machine, with which a file is encrypted"};
}

}  // namespace tony::hadoop
