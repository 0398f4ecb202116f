// The bytes of a journal: a header, then records. A record has a length, the CRC32C of the text, the CRC32C of these
// two numbers, and the text: the decisions of one step (turn) of the AM, one line of JSON each. A step is stored
// completely or not at all, because its decisions belong together. All numbers are little-endian. Pure functions;
// am/journal.h does the I/O.
//
//   "TONYJRNL" version:u32 | length:u32 text_crc:u32 head_crc:u32 text[length] | ...
//
// Version 1 had a record for each decision, so that a crash could leave the first part of a step.
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
std::string EncodeTurn(const std::vector<Decision>& decisions);  // `decisions` is not empty
std::string EncodeRecord(std::string_view lines);

struct DecodedJournal {
  std::vector<Decision> decisions;
  // Everything before this offset is complete. The rest is a torn tail, and no process ever acted on it.
  size_t valid_bytes = 0;
  // The journal has an earlier version, so nothing may be appended to it.
  bool outdated = false;
};

// Returns the same journal in the current version.
std::string Update(std::string_view outdated);

// A torn tail is a record that is cut off by the end of the file, or that ends in zeros, as some file systems leave
// after a power cut. Any other mismatch is damage: kInvalid with the offset. An empty file is an empty journal. A
// single flipped bit in a complete journal is always reported, and never taken for a torn tail.
Result<DecodedJournal> DecodeJournal(std::string_view bytes);

}  // namespace tony
