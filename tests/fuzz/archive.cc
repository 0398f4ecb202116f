// Fuzzes an archive of a job that is unpacked into the user's store: no file may land outside of the new tree.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/os/files.h"
#include "runtime/staging/unpack.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/work_folder.h"
#include "tests/support/archive_builder.h"

namespace tony::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr UnpackLimits kSmall{.entries = 100, .bytes = 1 << 20, .ratio = 50, .free_of_ratio = 64 << 10};

void CheckNothingOutside(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) CHECK(entry.path().filename() == "tree");
}

int64_t BytesIn(const fs::path& tree) {
  int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tree)) {
    if (fs::is_regular_file(entry.symlink_status())) bytes += static_cast<int64_t>(entry.file_size());
  }
  return bytes;
}

std::vector<BuiltEntry> Honest() {
  using Kind = BuiltEntry::Kind;
  return {{.name = "app/", .kind = Kind::kFolder, .mode = 0755},
          {.name = "app/run.sh", .content = "#!/bin/sh\necho hi\n", .mode = 0755},
          {.name = "app/link", .kind = Kind::kSymlink, .content = "run.sh"},
          {.name = "app/text", .content = std::string(300, 'x')}};
}
std::vector<BuiltEntry> Hostile() {
  using Kind = BuiltEntry::Kind;
  return {{.name = "out", .kind = Kind::kSymlink, .content = ".."},
          {.name = "out/x", .content = "x"},
          {.name = "../x", .content = "x"}};
}

std::string Bytes(ArchiveForm form, const std::vector<BuiltEntry>& entries) {
  const WorkFolder folder;
  BuildArchive(folder.path() / "archive.seed", form, entries);
  std::ifstream stream(folder.path() / "archive.seed", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

void Read(std::string_view input) {
  static const WorkFolder folder;
  const fs::path tree_folder = folder.path() / "tree";
  const UniqueFd archive = NamelessFile(input);
  auto tree = TreeWriter::Make(tree_folder);
  CHECK(tree.ok());
  SpaceGuard space(folder.path());
  const StageWatch watch;
  StageMeter meter(watch);
  (void)Unpack(archive.get(), *tree, kSmall, space, meter);
  CheckNothingOutside(folder.path());
  CHECK(BytesIn(tree_folder) <= kSmall.bytes);
  CHECK(RemoveTree(tree_folder).ok());
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const ArchiveForm form : kAllArchiveForms) seeds.push_back(Bytes(form, Honest()));
  for (const ArchiveForm form : {ArchiveForm::kZip, ArchiveForm::kTar}) seeds.push_back(Bytes(form, Hostile()));
  return seeds;
}

}  // namespace tony::fuzz
