// Virtual environments that uv makes.
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

#include "runtime/staging/environment_recipe.h"

namespace tony {

bool IsUvLock(const std::filesystem::path& file);  // by its name

// Asks uv for its Python. The recipe may be used as long as `meter` lives.
Result<EnvironmentRecipe> UvEnvironment(const std::filesystem::path& lock, StageMeter& meter);

}  // namespace tony
