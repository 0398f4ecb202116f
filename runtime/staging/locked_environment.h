// A Python environment that is made from a lock file by uv, once for each content, and from then on is one like any
// other: read-only, shared by jobs, and packed for the nodes of a cluster.
//
//   uv.lock             with the pyproject.toml beside it: its packages, without the project itself and what is for
//                       development only
//   pylock.toml, pylock.NAME.toml      as PEP 751 has them
//   requirements*.txt   in which each package has one version, as `uv pip compile` and `pip freeze` write it
//
// Two locks are the same if their bytes, uv's way to make them, and the Python that uv chooses here are. A package that
// is a folder of this machine has no place in a lock: its content may change and the lock does not.
#pragma once

#include <filesystem>
#include <string_view>

#include "runtime/base/result.h"
#include "runtime/staging/stage_source.h"

namespace tony {

// By its name.
bool IsPythonLock(const std::filesystem::path& file);

// Blocks for as long as uv takes, which may have to fetch gigabytes. kInvalid: the lock is none, uv refuses it, or there
// is no uv; kUnavailable: packages cannot be fetched, or a stop was asked for.
Result<StagedSource> StageLockedEnvironment(const std::filesystem::path& lock, const StageContext& context);

}  // namespace tony
