// The bytes of a journal: a header, then records of a length, the CRC32C of the JSON, the CRC32C of those two, and one
// decision as JSON. All numbers are little-endian. Pure functions; journal.h does the I/O.
//
//   "TONYJRNL" version:u32 | length:u32 json_crc:u32 head_crc:u32 json[length] | ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/journal/decisions.h"

namespace tony {

constexpr uint32_t kJournalVersion = 1;

std::string EncodeHeader();
std::string EncodeRecord(const Decision& decision);
std::string EncodeRecord(std::string_view json);  // of a decision

struct DecodedJournal {
  std::vector<Decision> decisions;
  size_t valid_bytes = 0;  // up to here everything is whole; the rest is a torn tail that was never acted upon
};

// A record cut off by the end of the file, and one that ends in zeros, as some file systems leave after a power cut,
// are a torn tail. Anything else that does not check out is damage: kInvalid with the offset. An empty file is an empty
// journal. No single flipped bit of a whole journal is taken for a torn tail, or not noticed.
Result<DecodedJournal> DecodeJournal(std::string_view bytes);

}  // namespace tony
