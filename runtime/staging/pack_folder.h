// Packs a folder as .tar.gz for another machine, where another program unpacks the archive, e.g. a NodeManager.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

// Packs the content of `folder` into the empty file `to`; the caller still owns the descriptor. Names, executable bits,
// link targets and times in whole seconds are kept. The user who unpacks the archive owns its content, and may write
// and remove this content. The folders of the store are read-only, and a NodeManager could not remove such folders.
// `on_packed` receives the number of bytes read since the last call; an error from it ends the packing. kInvalid:
// content cannot be read, or a file became shorter meanwhile. kCannotWrite: `to` cannot be written.
// Symbolic links are packed as links and never followed.
Status PackFolder(const std::filesystem::path& folder, int to, const std::function<Status(int64_t bytes)>& on_packed);

// A part of an archive: a file or a folder of this machine, or a text.
struct PackedPart {
  std::string name;  // path in the archive
  // Empty: the part is a file with `text`.
  std::filesystem::path source;
  std::string text{};
};
// Like PackFolder(), for several parts in order. A part's name has its content in the archive.
Status PackParts(const std::vector<PackedPart>& parts, int to, const std::function<Status(int64_t bytes)>& on_packed);

}  // namespace tony
