// Fuzzes the files of a journal after a crash of the machine: the journal and journal.written beside it. The input's
// first byte is the length of journal.written.
#include <filesystem>
#include <fstream>

#include "am/journal.h"
#include "runtime/records/journal_format.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/work_folder.h"

namespace tony::fuzz {

void Read(std::string_view input) {
  if (input.empty()) return;
  static const WorkFolder folder;
  const size_t size = std::min(input.size() - 1, size_t{static_cast<unsigned char>(input.front())});
  const std::string_view written = input.substr(1, size), journal = input.substr(1 + size);
  const std::string path = folder.path() / "journal";
  std::ofstream(path, std::ios::binary) << journal;
  std::ofstream(path + ".written", std::ios::binary) << written;
  const auto opened = am::OpenJournalFile(path);
  if (!opened.ok()) return;
  CHECK(opened->content.size() + opened->torn_bytes == journal.size() || journal.empty());
  CHECK((opened->outdated ? Update(journal) : std::string(journal)).starts_with(opened->content));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const std::string& bytes : FilesOf("tests/journals", "/journal")) {
    const std::string written = std::to_string(bytes.size());
    seeds.push_back(static_cast<char>(written.size()) + written + bytes);
  }
  seeds.push_back(std::string(1, '\0') + EncodeHeader());
  return seeds;
}

}  // namespace tony::fuzz
