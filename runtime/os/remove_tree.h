// Removes what is no longer wanted, also where its folders may not be written.
#pragma once

#include <filesystem>

#include "runtime/base/result.h"

namespace tony {

// A file, or a folder with all that is in it; its folders are made writable first. Links are removed, never followed,
// and what another file system has, which is mounted at or below the path, stays. Harmless if there is none.
// kCannotWrite names the first thing that stayed; all else is removed.
Status RemoveTree(const std::filesystem::path& path);

}  // namespace tony
