// Environments that a client of conda makes of an explicit lock file (conda_lock.h).
//
// Two locks are the same if their bytes and our way to make them are: the lock names each package, so it matters
// neither which client makes it nor its version. The environment has its own path in its files (conda_prefix.h), so
// that counts, too. The Python is one of its packages, if it has one.
#pragma once

#include <filesystem>

#include "runtime/staging/environment_recipe.h"
#include "runtime/staging/staged_store.h"

namespace tony {

// Of $MAMBA_EXE, micromamba, mamba, $CONDA_EXE and conda the first that there is. The recipe may be used as long as
// `meter` lives.
Result<EnvironmentRecipe> CondaEnvironment(const std::filesystem::path& lock, const StagedStore& store,
                                           StageMeter& meter);

}  // namespace tony
