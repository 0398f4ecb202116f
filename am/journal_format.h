// The bytes of a journal: a header, then records of a length, the CRC32C of the JSON, the CRC32C of those two, and one
// decision as JSON. All numbers are little-endian. Pure functions; journal.h does the I/O.
//
//   "TONYJRNL" version:u32 | length:u32 json_crc:u32 head_crc:u32 json[length] | ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "am/decisions.h"
#include "runtime/base/result.h"

namespace tony::am {

constexpr uint32_t kJournalVersion = 1;

std::string EncodeHeader();
std::string EncodeRecord(const Decision& decision);

struct DecodedJournal {
  std::vector<Decision> decisions;
  size_t valid_bytes = 0;  // up to here everything is whole; the rest is a torn tail that was never acted upon
};

// A record cut off by the end of the file, a last record with a wrong checksum, and a tail of zeros as some file
// systems leave after a power cut are a torn tail. Anything else that does not check out is damage: kInvalid with the
// offset. An empty file is an empty journal.
Result<DecodedJournal> DecodeJournal(std::string_view bytes);

}  // namespace tony::am
