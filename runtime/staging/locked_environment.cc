#include "runtime/staging/locked_environment.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "runtime/os/files.h"
#include "runtime/staging/conda_environment.h"
#include "runtime/staging/conda_lock.h"
#include "runtime/staging/uv_environment.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

// Read-only, as all that is staged.
Status SealTree(const fs::path& folder) {
  std::vector<fs::path> folders = {folder};
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::file_status status = entry->symlink_status(error);
    if (status.type() == fs::file_type::directory) folders.push_back(entry->path());
    if (status.type() != fs::file_type::regular) continue;
    const bool executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
    if (chmod(entry->path().c_str(), executable ? 0555 : 0444) != 0)
      return FileError(ErrorCode::kCannotWrite, "finish", entry->path(), errno);
  }
  if (error) return FileError(ErrorCode::kCannotWrite, "finish", folder, error.value());
  for (const fs::path& one : folders) {
    if (chmod(one.c_str(), 0555) != 0) return FileError(ErrorCode::kCannotWrite, "finish", one, errno);
  }
  return Ok();
}

}  // namespace

bool HasNameOfLock(const fs::path& file) {
  return IsUvLock(file) || IsOtherCondaFile(file) || file.extension() == ".lock" || file.extension() == ".txt";
}

bool IsEnvironmentLock(const fs::path& file) { return IsUvLock(file) || IsOtherCondaFile(file) || IsCondaLock(file); }

Result<StagedSource> StageLockedEnvironment(const fs::path& file, const StageContext& context) {
  if (IsOtherCondaFile(file)) return RefuseOtherCondaFile(file);
  // By what is in it before by its name: people call conda's explicit files requirements.txt, too.
  TRY_ASSIGN(const EnvironmentRecipe recipe, IsCondaLock(file) ? CondaEnvironment(file, context.store, context.meter)
                                                               : UvEnvironment(file, context.meter));
  const auto make = [&](const fs::path& temporary) -> Status {
    TRY(recipe.make(temporary));
    return SealTree(temporary);
  };
  const auto damaged = [&](const std::string& damage) {
    context.watch.on_damage(context.meter.progress().what, damage);
  };
  TRY_ASSIGN(fs::path entry, context.store.entries().Keep(recipe.name, context.watch.stop,
                                                          {.make = make, .verify = {}, .on_damage = damaged}));
  return StagedSource{std::move(entry), recipe.name};
}

}  // namespace tony
