// Fuzzes the journal of an application master as it is read after a crash: bytes with any damage, and whole records
// with valid checksums. The first byte chooses the kind.
#include "runtime/records/journal_format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/records/sample_decisions.h"

namespace tony::fuzz {
namespace {

constexpr char kRecords = 'R';  // a JSON per line

std::string Whole(std::string_view lines) {
  std::string journal = EncodeHeader();
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    journal += EncodeRecord(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return journal;
}

// A journal that was read is written and read again with the same result.
void CheckRewritten(const DecodedJournal& journal) {
  std::string bytes = EncodeHeader();
  for (const Decision& decision : journal.decisions) bytes += EncodeTurn({decision});
  const auto again = DecodeJournal(bytes);
  CHECK(again.ok() && again->decisions.size() == journal.decisions.size() && again->valid_bytes == bytes.size());
  std::string twice = EncodeHeader();
  for (const Decision& decision : again->decisions) twice += EncodeTurn({decision});
  CHECK(twice == bytes);
}

// Returns the JSON of bytes that are one whole record.
std::string JsonOf(std::string_view record) { return std::string(record.substr(12)); }

}  // namespace

void Read(std::string_view input) {
  if (input.empty()) return;
  const std::string bytes = input.front() == kRecords ? Whole(input.substr(1)) : std::string(input.substr(1));
  const auto journal = DecodeJournal(bytes);
  if (!journal.ok()) return;
  CHECK(journal->valid_bytes <= bytes.size());
  CheckRewritten(*journal);
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& bytes : FilesOf("tests/journals", "/journal")) {
    seeds.push_back("B" + bytes);
    std::string lines(1, kRecords);
    if (const auto journal = DecodeJournal(bytes); journal.ok()) {
      for (const Decision& decision : journal->decisions) lines += JsonOf(EncodeTurn({decision})) + "\n";
    }
    seeds.push_back(lines);
  }
  for (const Decision& decision : OneOfEachKind()) seeds.push_back(kRecords + JsonOf(EncodeTurn({decision})));
  return seeds;
}

}  // namespace tony::fuzz
