// The bytes of a journal: a header, then records of a length, the CRC32C of the text, the CRC32C of those two, and the
// text: the decisions of one turn, a line of JSON each. A turn is whole or not there: what it decides belongs together.
// All numbers are little-endian. Pure functions; journal.h does the I/O.
//
//   "TONYJRNL" version:u32 | length:u32 text_crc:u32 head_crc:u32 text[length] | ...
//
// Version 1 had a record for each decision, so that a crash could leave the first part of a turn.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/records/decisions.h"

namespace tony {

constexpr uint32_t kJournalVersion = 2;

std::string EncodeHeader();
std::string EncodeTurn(const std::vector<Decision>& decisions);  // at least one
std::string EncodeRecord(std::string_view lines);

struct DecodedJournal {
  std::vector<Decision> decisions;
  size_t valid_bytes = 0;  // up to here everything is whole; the rest is a torn tail that was never acted upon
  bool outdated = false;   // of an earlier version: nothing may be appended to it
};

// The same journal in this version.
std::string Update(std::string_view outdated);

// A record cut off by the end of the file, and one that ends in zeros, as some file systems leave after a power cut,
// are a torn tail. Anything else that does not check out is damage: kInvalid with the offset. An empty file is an empty
// journal. No single flipped bit of a whole journal is taken for a torn tail, or not noticed.
Result<DecodedJournal> DecodeJournal(std::string_view bytes);

}  // namespace tony
