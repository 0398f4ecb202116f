// The files of a conda environment contain the environment's own path, the prefix. The functions below change that path
// before the environment is renamed to another path.
//
//   a script in bin/ that the environment's Python runs   finds the Python in its own folder, wherever that folder is,
//                                                          and needs no activated environment
//   any other file, any symbolic link                     has the new path in place of the old one. Extra slashes
//                                                          before the last name ("/store///env") make both equally
//                                                          long, so no byte moves. Strings with a length, bytecode and
//                                                          its time stamps stay valid
//
// All files are searched as a whole. The lists of files in which packages declare the path are not used, because the
// packages' scripts write further files, and micromamba does not keep these lists.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/staging/locked_environment.h"
#include "runtime/staging/stage.h"

namespace tony {

// Replaces the environment's own path by `to` in all files of the environment in `folder`. Files are changed in
// place, so none may have a second hard link. `folder` must be absolute, and written exactly as the client received it.
// kInvalid: `to` is longer than `folder`. A failure leaves some files changed.
Status RelocateCondaEnvironment(const std::filesystem::path& folder, const std::filesystem::path& to);

// Explicit lock files of conda. conda, mamba, micromamba, conda-lock and pixi write them, and clients need no solver to
// install them:
//
//   # platform: linux-64
//   @EXPLICIT
//   https://conda.anaconda.org/conda-forge/linux-64/zstd-1.5.7-hb8e6e7a_2.conda#<MD5, SHA-256 or sha256:SHA-256>

// Returns true for a *.lock or *.txt file with the line @EXPLICIT.
bool IsCondaLock(const std::filesystem::path& file);

// Returns true for the other files of conda's tools, by their names: environment.yml, conda-lock.yml, pixi.lock. They
// need a solver or a program of their own. RefuseOtherCondaFile() returns an error with the command that converts such
// a file to an explicit lock.
bool IsOtherCondaFile(const std::filesystem::path& file);
Error RefuseOtherCondaFile(const std::filesystem::path& file);

// A package that is a file of this machine. conda does not check the hash of such a package, so staging does.
struct LocalPackage {
  std::string line;
  size_t number = 0;
  std::filesystem::path file;
  std::string sha256;
};
// Returns the packages of a lock that are files of this machine. kInvalid: a line is not the URL of a package, or names
// a package for another platform than `platform`. The message shows the line.
Result<std::vector<LocalPackage>> LocalPackagesOf(std::string_view lock, std::string_view platform);

std::string CondaPlatform();  // platform of this machine, e.g. "linux-64"

// Environments that a client of conda makes from an explicit lock file.
//
// Two locks give the same environment if their bytes, TonY's way to make the environment, and the folder of the store
// are the same. The lock names each package exactly, so neither the client nor its version matters. The folder of the
// store matters, because the environment's files contain their own path. No Python is chosen: it is one of the
// packages, if the lock has one.

// Returns a recipe that uses the first client found of $MAMBA_EXE, micromamba, mamba, $CONDA_EXE and conda. The recipe
// may be used only while `meter` exists.
Result<EnvironmentRecipe> CondaEnvironment(const std::filesystem::path& lock, const StagedStore& store,
                                           StageMeter& meter);

}  // namespace tony
