// An environment of conda's clients knows its own path, the prefix, which they write into its files. This makes one fit
// for another path before it is renamed to that.
//
//   a script in bin/ that the environment's Python runs   finds the Python beside itself, wherever the folder is, and
//                                                          needs no activated environment
//   any other file, any symbolic link                     gets the new path for the old one, and as many slashes before
//                                                          the last name ("/store///env") as make it as long: then no
//                                                          byte moves, and strings with a length, bytecode and its time
//                                                          stamps stay right, too
//
// Files are searched as a whole: what packages declare is not all (their scripts write, too), and micromamba does not
// keep what they declare.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/staging/locked_environment.h"
#include "runtime/staging/stage.h"

namespace tony {

// Changes files in place: none may have another name. kInvalid: `to` is longer than `folder`, which is absolute and as
// the client was told. A failure leaves some changed.
Status RelocateCondaEnvironment(const std::filesystem::path& folder, const std::filesystem::path& to);

// The explicit lock files of conda, which conda, mamba, micromamba, conda-lock and pixi write and need no solver for:
//
//   # platform: linux-64
//   @EXPLICIT
//   https://conda.anaconda.org/conda-forge/linux-64/zstd-1.5.7-hb8e6e7a_2.conda#<MD5, SHA-256 or sha256:SHA-256>

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

// Environments that a client of conda makes of an explicit lock file (conda_environment.h).
//
// Two locks are the same if their bytes and our way to make them are: the lock names each package, so it matters
// neither which client makes it nor its version. The environment has its own path in its files (conda_environment.h), so
// that counts, too. The Python is one of its packages, if it has one.

// Of $MAMBA_EXE, micromamba, mamba, $CONDA_EXE and conda the first that there is. The recipe may be used as long as
// `meter` lives.
Result<EnvironmentRecipe> CondaEnvironment(const std::filesystem::path& lock, const StagedStore& store,
                                           StageMeter& meter);

}  // namespace tony
