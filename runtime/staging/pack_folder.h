// Packs a folder as .tar.gz, for a machine that unpacks it elsewhere (a NodeManager does, and needs no program of
// ours).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "runtime/base/result.h"

namespace tony {

// All that is in `folder`, into the empty file `to`, which stays the caller's. Names, executable bits, links as they
// are and whole seconds of times are kept. Whoever unpacks it owns it and may write and remove all of it: a NodeManager
// could not clean up folders that are read-only as ours are. `on_packed` is called with the bytes read since the last
// call; an error ends the packing with it. kInvalid: what cannot be read, or became shorter meanwhile; kCannotWrite.
Status PackFolder(const std::filesystem::path& folder, int to, const std::function<Status(int64_t bytes)>& on_packed);

}  // namespace tony
