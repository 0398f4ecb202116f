// Makes small archives with libarchive, valid and hostile ones.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace tony {

struct BuiltEntry {
  enum class Kind { kFile, kFolder, kSymlink, kHardLink, kPipe, kDevice };
  std::string name;
  Kind kind = Kind::kFile;
  std::string content;  // or the link's target
  unsigned mode = 0644;
  time_t modified = 1'600'000'000;
};

enum class ArchiveForm { kZip, kTar, kTarGz, kTarXz, kTarBz2, kTarZst };
inline constexpr ArchiveForm kAllArchiveForms[] = {ArchiveForm::kZip,   ArchiveForm::kTar,    ArchiveForm::kTarGz,
                                                   ArchiveForm::kTarXz, ArchiveForm::kTarBz2, ArchiveForm::kTarZst};

void BuildArchive(const std::filesystem::path& file, ArchiveForm form, const std::vector<BuiltEntry>& entries,
                  const std::string& password = "");

}  // namespace tony
