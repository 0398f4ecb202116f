// Packs a folder as .tar.gz for another machine, where another program unpacks the archive, e.g. a NodeManager.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "runtime/base/result.h"

namespace tony {

// Packs the content of `folder` into the empty file `to`; the caller still owns the descriptor. Names, executable bits,
// link targets and times in whole seconds are kept. The user who unpacks the archive owns its content, and may write
// and remove this content. The folders of the store are read-only, and a NodeManager could not remove such folders.
// `on_packed` receives the number of bytes read since the last call; an error from it ends the packing. kInvalid:
// content cannot be read, or a file became shorter meanwhile. kCannotWrite: `to` cannot be written.
Status PackFolder(const std::filesystem::path& folder, int to, const std::function<Status(int64_t bytes)>& on_packed);

}  // namespace tony
