// A folder of the user's, as it is to be staged.
#pragma once

#include <time.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

struct SourceItem {
  enum class Kind { kFolder, kFile, kLink };
  std::string name;  // from the source folder: "package/train.py"
  Kind kind = Kind::kFile;
  bool executable = false;
  std::string target;  // of a link, as it is
  int64_t size = 0;    // of a file
  timespec modified{};
};

// All that is in `folder`, sorted by name, so that a folder is before what is in it. Links are not followed. `without`,
// a folder, is left out: the store itself may lie in the user's folder. kInvalid names what cannot be read, a pipe,
// socket or device, or says that there is too much.
Result<std::vector<SourceItem>> ListSource(const std::filesystem::path& folder, const std::filesystem::path& without);

int64_t TotalSize(const std::vector<SourceItem>& items);

// The hash that names the tree: of names, kinds, executable bits, link targets and `hashes`, one for each file in
// order. Not of times.
std::string TreeHash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

// The same without folders __pycache__: Python writes them beside a program that merely runs.
std::string TreeHashOfSources(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes);

}  // namespace tony
