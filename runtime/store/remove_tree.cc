#include "runtime/store/remove_tree.h"

#include "runtime/store/files.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 100;

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
  // Another process may be removing the same tree.
  std::error_code error;
  for (int tries = kMostTries; tries > 0; --tries) {
    MakeFoldersWritable(path);
    fs::remove_all(path, error);
    if (error != std::errc::no_such_file_or_directory) break;
  }
  return error ? FileError(ErrorCode::kCannotWrite, "remove", path, error.value()) : Ok();
}

}  // namespace tony
