// The coding of bytes that are stored in HDFS. Pure; private to this folder.
//
// Erasure coding: the bytes of a block group of RS-3-2 are on five DataNodes, each of which has a unit:
//
//   unit      0        1        2        3          4
//   stripe 0  cell 0   cell 1   cell 2   parity     parity
//   stripe 1  cell 3   cell 4   (short)  parity     parity
//
// A parity cell is a sum of the stripe's cells, each multiplied by a factor in the field of 256 elements. Missing bytes
// behind the last cell count as zeros. Any three units give the other ones.
//
// Encryption zones: AES/CTR/NoPadding. Each file has a key and a first counter of its own. The counter grows by one for
// each 16 bytes of the file, so any part of a file can be encrypted or decrypted by itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/result.h"

namespace tony::hadoop {

struct ErasureCoding {
  // Lost units of "rs" and "xor" can be restored.
  std::string codec;
  int data = 0, parity = 0;  // units
  uint64_t cell = 0;         // bytes
};

// The coding that HDFS knows by this number (SystemErasureCodingPolicies). kInvalid: the number is unknown.
Result<ErasureCoding> BuiltInErasureCoding(uint32_t id);

// Returns an error, unless the numbers are within HDFS' limits.
Status CheckErasureCoding(const ErasureCoding& coding);

struct CellPlace {
  int unit = 0;
  uint64_t offset = 0;  // in the unit
  uint64_t left = 0;    // bytes of the cell
};
CellPlace PlaceOf(const ErasureCoding& coding, uint64_t offset_in_group);
// Returns the number of bytes of a unit of a group with `group_length` bytes of data.
uint64_t UnitLength(const ErasureCoding& coding, uint64_t group_length, int unit);

// Restores bytes of the data unit `lost` from the same bytes of as many other units as the coding has data units. All
// have the same length. kUnavailable: the codec is not supported.
Result<std::string> RestoreUnit(const ErasureCoding& coding, int lost, const std::map<int, std::string>& units);

class FileCipher {
 public:
  // kInvalid: the sizes are not those of AES.
  static Result<FileCipher> Make(std::string key, std::string first_counter);

  // Encrypts or decrypts `bytes`, which begin at `offset` of the file. Both are the same operation. Returns an error if
  // OpenSSL refuses AES.
  Status Apply(std::string& bytes, uint64_t offset) const;

 private:
  FileCipher(std::string key, std::string first_counter)
      : key_(std::move(key)), first_counter_(std::move(first_counter)) {}

  std::string key_, first_counter_;
};

}  // namespace tony::hadoop
