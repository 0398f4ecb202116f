// An environment that is made from a lock file, once for each content, and from then on is one like any other:
// read-only, shared by jobs, and packed for the nodes of a cluster. uv makes those of Python's lock files
// (uv_environment.h), a client of conda those of conda's (conda_environment.h).
#pragma once

#include <filesystem>

#include "runtime/base/result.h"
#include "runtime/staging/stage_source.h"

namespace tony {

bool HasNameOfLock(const std::filesystem::path& file);  // it may be one, wherever it is

// By its name or by what is in it; also one that is refused as it stands, as environment.yml.
bool IsEnvironmentLock(const std::filesystem::path& file);

// Blocks for as long as the maker takes, which may have to fetch gigabytes. kInvalid: the lock is none, the maker
// refuses it, or there is no maker; kUnavailable: packages cannot be fetched, or a stop was asked for.
Result<StagedSource> StageLockedEnvironment(const std::filesystem::path& lock, const StageContext& context);

}  // namespace tony
