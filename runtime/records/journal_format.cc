#include "runtime/records/journal_format.h"

#include <algorithm>
#include <boost/crc.hpp>

#include "runtime/base/strings.h"

namespace tony {
namespace {

constexpr std::string_view kMagic = "TONYJRNL";
constexpr size_t kHeaderBytes = 12;
constexpr size_t kRecordHeaderBytes = 12;
// The longest record: a step with decisions about every task of a job of 10,000 tasks.
constexpr uint32_t kMaxRecord = 256 << 20;

void AppendNumber(std::string& out, uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xff));
}

uint32_t NumberAt(std::string_view bytes, size_t offset) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return number;
}

uint32_t Crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

bool AllZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

Error Damaged(size_t offset, const std::string& what) { return InvalidError("damaged at byte ", offset, ": ", what); }

}  // namespace

std::string EncodeHeader() {
  std::string out(kMagic);
  AppendNumber(out, kJournalVersion);
  return out;
}

std::string EncodeTurn(const std::vector<Decision>& decisions) {
  std::string lines;
  for (const Decision& decision : decisions) {
    if (!lines.empty()) lines += '\n';
    lines += ToJson(decision);
  }
  return EncodeRecord(lines);
}

std::string EncodeRecord(std::string_view lines) {
  std::string out;
  AppendNumber(out, static_cast<uint32_t>(lines.size()));
  AppendNumber(out, Crc32c(lines));
  AppendNumber(out, Crc32c(out));
  return out.append(lines);
}

std::string Update(std::string_view outdated) {
  return EncodeHeader().append(outdated.substr(std::min(outdated.size(), kHeaderBytes)));
}

Result<DecodedJournal> DecodeJournal(std::string_view bytes) {
  DecodedJournal journal;
  const bool torn_header = bytes.size() < kHeaderBytes && EncodeHeader().starts_with(bytes);
  if (torn_header || AllZero(bytes)) return journal;
  if (bytes.size() < kHeaderBytes) return Damaged(0, "the file is not a journal");
  if (!bytes.starts_with(kMagic)) return Damaged(0, "the file is not a journal");
  const uint32_t version = NumberAt(bytes, kMagic.size());
  if (version == 0 || version > kJournalVersion) {
    return InvalidError("the journal has version ", version, " (at byte ", kMagic.size(),
                        "), and this release reads only versions up to ", kJournalVersion);
  }
  journal.outdated = version < kJournalVersion;
  size_t at = kHeaderBytes;
  while (bytes.size() - at >= kRecordHeaderBytes) {
    const std::string_view body = bytes.substr(at + kRecordHeaderBytes);
    const uint32_t length = NumberAt(bytes, at);
    if (Crc32c(bytes.substr(at, 8)) != NumberAt(bytes, at + 8)) {
      if (AllZero(body)) break;
      return Damaged(at, "the checksum of a record's head is wrong");
    }
    if (length == 0 || length > kMaxRecord)
      return Damaged(at, StrCat("the length of a record is ", length, " bytes, expected 1 to ", kMaxRecord));
    if (body.size() < length) break;
    const std::string_view lines = body.substr(0, length);
    if (Crc32c(lines) != NumberAt(bytes, at + 4)) {
      // The text ends in zeros. JSON text has no zero bytes, so the end of the record never reached the disk.
      if (AllZero(body.substr(length)) && lines.ends_with('\0')) break;
      return Damaged(at, "the checksum of a record is wrong");
    }
    for (const auto& line : Split(lines, '\n')) {
      auto decision = DecisionFromJson(line);
      if (!decision.ok()) return Damaged(at, decision.error().message);
      journal.decisions.push_back(*std::move(decision));
    }
    at += kRecordHeaderBytes + length;
  }
  journal.valid_bytes = at;
  return journal;
}

}  // namespace tony
