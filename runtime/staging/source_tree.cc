#include "runtime/staging/source_tree.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "runtime/base/strings.h"
#include "runtime/staging/limits.h"
#include "runtime/store/files.h"
#include "runtime/store/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

Result<SourceItem> Describe(const fs::path& path, const fs::path& folder) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return FileError(ErrorCode::kInvalid, "read", path, errno);
  SourceItem item{.name = path.lexically_relative(folder).string(), .modified = info.st_mtim};
  switch (info.st_mode & S_IFMT) {
    case S_IFDIR:
      item.kind = SourceItem::Kind::kFolder;
      return item;
    case S_IFREG:
      item.executable = (info.st_mode & S_IXUSR) != 0;
      item.size = info.st_size;
      return item;
    case S_IFLNK: {
      item.kind = SourceItem::Kind::kLink;
      std::error_code error;
      item.target = fs::read_symlink(path, error).string();
      if (error) return FileError(ErrorCode::kInvalid, "read", path, error.value());
      return item;
    }
    default:
      return Error{ErrorCode::kInvalid,
                   StrCat("copy ", path.string(), ": neither a file nor a folder nor a symbolic link")};
  }
}

bool IsPythonCache(const std::string& name) {
  const std::vector<std::string> parts = Split(name, '/');
  return std::ranges::find(parts, "__pycache__") != parts.end();
}

char KindLetter(const SourceItem& item) {
  switch (item.kind) {
    case SourceItem::Kind::kFolder:
      return 'd';
    case SourceItem::Kind::kFile:
      return item.executable ? 'x' : 'f';
    case SourceItem::Kind::kLink:
      return 'l';
  }
  return '?';
}

std::string Hash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes,
                 const std::function<bool(const SourceItem&)>& counts) {
  Sha256 sha;
  sha.Update("tony tree 1\n");
  size_t file = 0;
  for (const SourceItem& item : items) {
    const std::string& content = item.kind == SourceItem::Kind::kFile ? hashes.at(file++) : item.target;
    // Neither names nor targets hold a NUL, so no two trees read the same.
    if (counts(item)) sha.Update(StrCat(KindLetter(item), item.name, '\0', content, '\0'));
  }
  return sha.Hex();
}

}  // namespace

Result<std::vector<SourceItem>> ListSource(const fs::path& folder, const fs::path& without) {
  std::vector<SourceItem> items;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    TRY_ASSIGN(SourceItem item, Describe(entry->path(), folder));
    std::error_code ignored;
    if (item.kind == SourceItem::Kind::kFolder && fs::equivalent(entry->path(), without, ignored)) {
      entry.disable_recursion_pending();
      continue;
    }
    items.push_back(std::move(item));
    if (static_cast<int64_t>(items.size()) > kMostEntries)
      return Error{ErrorCode::kInvalid,
                   StrCat(folder.string(), ": more than ", kMostEntries, " files: is this the folder that is meant?")};
  }
  if (error) return FileError(ErrorCode::kInvalid, "read", folder, error.value());
  std::ranges::sort(items, {}, &SourceItem::name);
  return items;
}

int64_t TotalSize(const std::vector<SourceItem>& items) {
  int64_t size = 0;
  for (const SourceItem& item : items) size += item.size;
  return size;
}

std::string TreeHash(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes) {
  return Hash(items, hashes, [](const SourceItem&) { return true; });
}

std::string TreeHashOfSources(const std::vector<SourceItem>& items, const std::vector<std::string>& hashes) {
  return Hash(items, hashes, [](const SourceItem& item) { return !IsPythonCache(item.name); });
}

}  // namespace tony
