#include "runtime/staging/staged_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/store/file_lock.h"
#include "runtime/store/files.h"
#include "runtime/store/remove_tree.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSingleSyncs = 64;

fs::path FolderOf(const fs::path& home) { return home / "staged"; }

bool IsThere(const fs::path& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

// An entry is believed for ever, so a power cut must not leave one that is empty. One by one where they are few: the
// whole file system may have gigabytes of somebody else's to write.
Status Sync(const fs::path& entry) {
  std::vector<fs::path> paths = {entry};
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(entry, error))) {
    for (fs::recursive_directory_iterator item(entry, error), end; !error && item != end; item.increment(error)) {
      if (!item->is_symlink(error)) paths.push_back(item->path());
      if (paths.size() > kMostSingleSyncs) break;
    }
  }
  if (error) return FileError(ErrorCode::kCannotWrite, "sync", entry, error.value());
  if (paths.size() <= kMostSingleSyncs) return SyncTogether(paths);
  const UniqueFd fd(open(entry.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) return FileError(ErrorCode::kCannotWrite, "sync", entry, errno);
  return Ok();
}

bool IsOlder(const fs::path& path, Instant than) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return false;
  // Not when its content was modified, which is the source's time, but when it was put here.
  return FromMillis(info.st_ctim.tv_sec * 1000 + info.st_ctim.tv_nsec / 1'000'000) < than;
}

Result<std::vector<std::string>> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return FileError(ErrorCode::kUnavailable, "read", folder, error.value());
  return names;
}

// What may go: nobody is staging, so temporaries are of the dead.
std::vector<std::string> Rubbish(const fs::path& folder, const std::vector<std::string>& names,
                                 const std::set<std::string>& kept, Instant older_than) {
  std::vector<std::string> rubbish;
  for (const std::string& name : names) {
    if (name == ".lock" || kept.contains(name)) continue;
    if (name.front() == '.' || IsOlder(folder / name, older_than)) rubbish.push_back(name);
  }
  return rubbish;
}

}  // namespace

Result<StagedStore> StagedStore::Open(const fs::path& home, const std::stop_token& stop) {
  const fs::path folder = FolderOf(home);
  TRY(MakeFolder(folder));
  TRY_ASSIGN(UniqueFd lock, LockFile(folder / ".lock", LockKind::kShared, [&] { return stop.stop_requested(); }));
  return StagedStore(home, folder, std::move(lock));
}

Result<fs::path> StagedStore::Keep(const std::string& name, const std::stop_token& stop, const Make& make) const {
  const fs::path entry = folder_ / name;
  if (IsThere(entry)) return entry;
  const fs::path busy = folder_ / (".busy-" + name);
  TRY_ASSIGN(const UniqueFd lock, LockFile(busy, LockKind::kAlone, [&] { return stop.stop_requested(); }));
  const Status made = IsThere(entry) ? Ok() : MakeEntry(name, make);
  unlink(busy.c_str());  // while it is locked: see LockFile()
  TRY(made);
  return entry;
}

Status StagedStore::MakeEntry(const std::string& name, const Make& make) const {
  const fs::path temporary = folder_ / (".new-" + name);
  TRY(RemoveTree(temporary));  // of one that was killed
  Status made = make(temporary);
  if (made.ok()) made = Sync(temporary);
  if (made.ok() && rename(temporary.c_str(), (folder_ / name).c_str()) != 0)
    made = FileError(ErrorCode::kCannotWrite, "make", folder_ / name, errno);
  if (made.ok()) return SyncPath(folder_);
  const Status removed = RemoveTree(temporary);
  if (removed.ok()) return made;
  return Error{made.error().code, StrCat(made.error().message, "; ", removed.error().message)};
}

Result<StagedStore::Swept> StagedStore::Sweep(const fs::path& home, const FindKept& find_kept, Instant older_than,
                                              Duration limit, bool dry_run) {
  const fs::path folder = FolderOf(home);
  Swept swept;
  if (!IsThere(folder)) return swept;
  const RealClock clock;
  const Instant end = clock.Now() + limit;
  TRY_ASSIGN(UniqueFd lock, LockFile(folder / ".lock", LockKind::kAlone, [&] { return clock.Now() >= end; }));
  TRY_ASSIGN(const std::set<std::string> kept, find_kept());
  TRY_ASSIGN(const std::vector<std::string> names, NamesIn(folder));
  swept.names = Rubbish(folder, names, kept, older_than);
  // Renamed while nobody can refer to it; the slow part is when submits need not wait any more.
  std::vector<fs::path> old;
  for (const std::string& name : swept.names) {
    const bool temporary = name.front() == '.';
    old.push_back(folder / (temporary || dry_run ? name : StrCat(".old-", name, ".", RandomHex(4))));
    if (rename((folder / name).c_str(), old.back().c_str()) != 0)
      return FileError(ErrorCode::kCannotWrite, "remove", folder / name, errno);
  }
  lock.Reset();
  for (const fs::path& path : old) {
    swept.bytes += DiskUse(path);
    if (!dry_run) TRY(RemoveTree(path));
  }
  return swept;
}

int64_t DiskUse(const fs::path& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return 0;
  int64_t bytes = info.st_blocks * 512;
  if (!S_ISDIR(info.st_mode)) return bytes;
  std::error_code error;
  fs::recursive_directory_iterator entry(path, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (lstat(entry->path().c_str(), &info) == 0) bytes += info.st_blocks * 512;
  }
  return bytes;
}

}  // namespace tony
