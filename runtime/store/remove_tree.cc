#include "runtime/store/remove_tree.h"

#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

void MakeFoldersWritable(const fs::path& path) {
  std::error_code ignored;  // what cannot be opened up is what cannot be removed, and named then
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return;
  fs::permissions(path, fs::perms::owner_all, ignored);
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, ignored), end;
  for (std::error_code error; !error && entry != end; entry.increment(error)) {
    if (fs::is_directory(entry->symlink_status(ignored))) fs::permissions(entry->path(), fs::perms::owner_all, ignored);
  }
}

}  // namespace

Status RemoveTree(const fs::path& path) {
  MakeFoldersWritable(path);
  std::error_code error;
  fs::remove_all(path, error);
  return error ? FileError(ErrorCode::kCannotWrite, "remove", path, error.value()) : Ok();
}

}  // namespace tony
