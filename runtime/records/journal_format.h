// The bytes of a journal: a header, then records. A record has the length of its text, the CRC32C of the text, the
// CRC32C of these two numbers, and the text: the decisions of one step (turn) of the AM, one line of JSON each. A step
// is stored completely or not at all, because its decisions belong together. All numbers are little-endian. Pure
// functions; am/journal.h does the I/O.
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
std::string EncodeTurn(const std::vector<Decision>& decisions);  // `decisions` must not be empty
std::string EncodeRecord(std::string_view lines);

struct DecodedJournal {
  std::vector<Decision> decisions;
  // The length of the complete part. The rest is a torn tail, an unfinished append on which no process ever acted.
  size_t valid_bytes = 0;
  // True if the journal is in an earlier format. Nothing may be appended to it.
  bool outdated = false;
};

// Returns a journal of an earlier version converted to the current version.
std::string Update(std::string_view outdated);

// Decodes a journal; an empty file is an empty journal. A record at the end that is cut off, or that ends in zeros, is
// a torn tail: some file systems leave zeros after a power cut. Any other mismatch is damage: kInvalid with the offset.
// A single flipped bit in a complete journal is always reported, and never taken for a torn tail.
Result<DecodedJournal> DecodeJournal(std::string_view bytes);

}  // namespace tony
