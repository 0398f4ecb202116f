// The explicit lock files of conda, which conda, mamba, micromamba, conda-lock and pixi write and need no solver for:
//
//   # platform: linux-64
//   @EXPLICIT
//   https://conda.anaconda.org/conda-forge/linux-64/zstd-1.5.7-hb8e6e7a_2.conda#<MD5, SHA-256 or sha256:SHA-256>
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"

namespace tony {

bool IsCondaLock(const std::filesystem::path& file);  // a *.lock or *.txt with the line @EXPLICIT

// environment.yml, conda-lock.yml, pixi.lock: by its name another file of theirs, which needs a solver or a program of
// its own. Error: with the command that makes an explicit one of it.
bool IsOtherCondaFile(const std::filesystem::path& file);
Error RefuseOtherCondaFile(const std::filesystem::path& file);

// A package that is a file of this machine. conda does not look at the hash of such a one.
struct LocalPackage {
  std::string line;
  size_t number = 0;
  std::filesystem::path file;
  std::string sha256;
};
// kInvalid, with its line: what is not a package at one place for all time, or not one for `platform`.
Result<std::vector<LocalPackage>> LocalPackagesOf(std::string_view lock, std::string_view platform);

std::string CondaPlatform();  // of this machine: "linux-64"

}  // namespace tony
