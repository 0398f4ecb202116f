#include "runtime/records/entry_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/os/sha256.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "tony manifest 1 ";
constexpr size_t kHashSize = 64;
constexpr std::string_view kWhole = ".";  // the name of the entry itself

std::string Time(const timespec& time) { return StrCat(time.tv_sec, ".", time.tv_nsec); }

// Returns the fields of one entry for the manifest, each followed by a NUL: kind, mode and size; times; name; target of
// a link. Names and targets contain no NUL.
Result<std::string> Record(const fs::path& path, const std::string& name) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return FileError(ErrorCode::kUnavailable, "read", path, errno);
  std::string target;
  if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    target = fs::read_symlink(path, error).string();
    if (error) return FileError(ErrorCode::kUnavailable, "read", path, error.value());
  }
  // Sizes and times of folders are left out, because they depend on the file system. Changes in a folder show in its
  // listed content.
  const bool is_file = S_ISREG(info.st_mode);
  const std::string kind = S_ISDIR(info.st_mode) ? "folder" : S_ISLNK(info.st_mode) ? "link" : is_file ? "file" : "?";
  char mode[16];
  std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777U);
  return StrCat(kind, " ", std::string_view(mode), " ", is_file ? info.st_size : 0, '\0',
                is_file ? StrCat(Time(info.st_mtim), " ", Time(info.st_ctim)) : "", '\0', name, '\0', target, '\0');
}

struct Item {
  std::string name, looks, times, target;
};

std::vector<Item> Items(std::string_view body) {
  const std::vector<std::string> fields = Split(body, '\0');
  std::vector<Item> items;
  for (size_t i = 0; i + 3 < fields.size(); i += 4)
    items.push_back({.name = fields[i + 2], .looks = fields[i], .times = fields[i + 1], .target = fields[i + 3]});
  std::ranges::sort(items, {}, &Item::name);
  return items;
}

std::string Quoted(const std::string& name) { return name == kWhole ? "the entry itself" : name; }

// Compares two lists that are sorted by name.
ManifestMatch Compare(const std::vector<Item>& kept, const std::vector<Item>& present) {
  using State = ManifestMatch::State;
  ManifestMatch match = {State::kSame, ""};
  auto now = present.begin();
  for (const Item& item : kept) {
    if (now == present.end() || now->name > item.name) return {State::kDiffers, Quoted(item.name) + " is missing"};
    if (now->name < item.name) return {State::kDiffers, now->name + " was added"};
    if (now->looks != item.looks || now->target != item.target)
      return {State::kDiffers, StrCat(Quoted(item.name), " is \"", now->looks, "\" instead of \"", item.looks, "\"")};
    if (now->times != item.times && match.first.empty())
      match = {State::kMaybe, StrCat("the times of ", Quoted(item.name), " differ")};
    ++now;
  }
  if (now != present.end()) return {State::kDiffers, now->name + " was added"};
  return match;
}

// Returns the manifest without its header. Returns an empty view if the manifest is not complete, for example after a
// power cut.
std::string_view BodyOf(std::string_view manifest) {
  const size_t start = kHeader.size() + kHashSize + 1;
  if (!manifest.starts_with(kHeader) || manifest.size() <= start) return {};
  const std::string_view body = manifest.substr(start);
  return Sha256Hex(body) == manifest.substr(kHeader.size(), kHashSize) ? body : std::string_view();
}

}  // namespace

Result<std::string> ManifestOf(const fs::path& path) {
  TRY_ASSIGN(std::string body, Record(path, std::string(kWhole)));
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error))) {
    fs::recursive_directory_iterator entry(path, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      TRY_ASSIGN(const std::string record,
                 Record(entry->path(), entry->path().string().substr(path.string().size() + 1)));
      body += record;
    }
  }
  if (error) return FileError(ErrorCode::kUnavailable, "read", path, error.value());
  return StrCat(kHeader, Sha256Hex(body), "\n", body);
}

ManifestMatch CompareManifests(std::string_view kept, std::string_view present) {
  if (kept == present) return {ManifestMatch::State::kSame, ""};
  const std::string_view body = BodyOf(kept);
  if (body.empty()) return {ManifestMatch::State::kMaybe, "the entry has no manifest"};
  return Compare(Items(body), Items(BodyOf(present)));
}

namespace {

constexpr size_t kMostSingleSyncs = 64;

// Syncs a new entry to the disk, because an entry is trusted forever and a power cut must not leave it empty. A few
// files are synced one by one: syncing the whole file system might write gigabytes of other data.
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
  if (paths.size() <= kMostSingleSyncs) return SyncInParallel(paths);
  const UniqueFd fd(open(entry.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || syncfs(fd.get()) != 0) return FileError(ErrorCode::kCannotWrite, "sync", entry, errno);
  return Ok();
}

// Returns a new name at each call. The name begins with a dot, so it is never taken for an entry.
std::string AsideName(std::string_view what, const std::string& name) {
  return StrCat(".", what, "-", name, ".", RandomHex(4));
}

}  // namespace

Result<EntryStore> EntryStore::Open(const fs::path& folder, const std::stop_token& stop) {
  TRY(MakeFolder(folder));
  TRY_ASSIGN(UniqueFd lock, LockFile(folder / ".lock", LockKind::kShared, [&] { return stop.stop_requested(); }));
  return EntryStore(folder, std::move(lock));
}

Result<fs::path> EntryStore::Keep(const std::string& name, const std::stop_token& stop, const Maker& maker) const {
  const fs::path entry = folder_ / name;
  if (IsSound(name)) return entry;
  const fs::path busy = folder_ / (".busy-" + name);
  TRY_ASSIGN(const UniqueFd lock, LockFile(busy, LockKind::kExclusive, [&] { return stop.stop_requested(); }));
  const Status kept = KeepAlone(name, maker);
  unlink(busy.c_str());  // under the lock: see LockFile()
  TRY(kept);
  return entry;
}

bool EntryStore::IsSound(const std::string& name) const {
  const auto kept = ReadFile(ManifestPath(name));
  if (!kept.ok() || !IsThere(folder_ / name)) return false;
  const auto present = ManifestOf(folder_ / name);
  return present.ok() && CompareManifests(*kept, *present).state == ManifestMatch::State::kSame;
}

Status EntryStore::KeepAlone(const std::string& name, const Maker& maker) const {
  if (IsThere(folder_ / name)) {
    TRY_ASSIGN(const std::string damage, FindDamage(name, maker));
    if (damage.empty()) return Ok();
    maker.on_damage(damage);
  }
  TRY(MakeEntry(name, maker));
  WriteManifest(name);
  return Ok();
}

// Returns a description of the entry's damage; empty if the entry is sound.
Result<std::string> EntryStore::FindDamage(const std::string& name, const Maker& maker) const {
  const fs::path entry = folder_ / name;
  const auto kept = ReadFile(ManifestPath(name));
  const auto present = ManifestOf(entry);
  if (!present.ok()) return present.error().message;
  const ManifestMatch match = CompareManifests(kept.ok() ? *kept : "", *present);
  if (match.state == ManifestMatch::State::kSame) return std::string();
  if (match.state == ManifestMatch::State::kDiffers || !maker.verify) return match.first;
  TRY_ASSIGN(const bool sound, maker.verify(entry));
  if (!sound) return std::string("the content of the entry has changed");
  WriteManifest(name);
  return std::string();
}

// Removes the unfinished entries of processes that were killed. A program that such a process had started may still
// write files. These files stay until Sweep() removes them.
void EntryStore::RemoveUnfinishedEntries(const std::string& name) const {
  const std::string half = ".new-" + name;
  std::vector<fs::path> halves;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string found = entry->path().filename().string();
    if (found == half || found.starts_with(half + ".")) halves.push_back(entry->path());
  }
  for (const fs::path& path : halves) (void)RemoveTree(path);
}

// The temporary name is new each time. A program (such as uv) that a killed process had started may still write files
// under the last name, and these files must not get into this entry.
Status EntryStore::MakeEntry(const std::string& name, const Maker& maker) const {
  RemoveUnfinishedEntries(name);
  const fs::path temporary = folder_ / AsideName("new", name);
  Status made = maker.make(temporary);
  if (made.ok()) made = Sync(temporary);
  if (made.ok()) made = Place(temporary, name);
  if (made.ok()) return SyncPath(folder_);
  const Status removed = RemoveTree(temporary);
  if (removed.ok()) return made;
  return Error{made.error().code, StrCat(made.error().message, "; ", removed.error().message)};
}

// The names are exchanged in one step, so that a task that starts meanwhile does not miss the entry.
Status EntryStore::Place(const fs::path& temporary, const std::string& name) const {
  const fs::path entry = folder_ / name;
  const fs::path aside = folder_ / AsideName("damaged", name);
  const auto failed = [&] { return FileError(ErrorCode::kCannotWrite, "make", entry, errno); };
  if (!IsThere(entry)) return rename(temporary.c_str(), entry.c_str()) == 0 ? Ok() : Status(failed());
  const auto exchange = [&] {
    return renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, entry.c_str(), RENAME_EXCHANGE) == 0;
  };
  if (exchange()) {
    if (rename(temporary.c_str(), aside.c_str()) == 0) return Ok();
    const Status status = failed();
    // After a failure the caller removes the temporary path, so the old entry must get its name back first.
    exchange();
    return status;
  }
  if (errno != EINVAL && errno != ENOSYS) return failed();
  // On a file system that cannot exchange names, such as NFS, the entry is missing for a moment.
  if (rename(entry.c_str(), aside.c_str()) != 0 || rename(temporary.c_str(), entry.c_str()) != 0) return failed();
  return Ok();
}

// The manifest is written after the entry has its name, because a rename changes a time. An entry without a manifest is
// verified at its next use, so a failure costs only time.
void EntryStore::WriteManifest(const std::string& name) const {
  const auto manifest = ManifestOf(folder_ / name);
  if (manifest.ok()) (void)WriteFileByRename(ManifestPath(name), *manifest, /*durable=*/false);
}

// EntryStore::Sweep() selects and renames files while no process searches entries. It deletes the renamed files
// afterwards, when submits no longer have to wait.

namespace {

constexpr std::string_view kOld = ".old-", kDamaged = ".damaged-", kManifest = ".manifest-";

bool IsOlder(const fs::path& path, Instant than) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return false;
  // The time of change shows when the file was put here, while the time of modification is that of the source.
  return FromMillis(info.st_ctim.tv_sec * 1000 + info.st_ctim.tv_nsec / 1'000'000) < than;
}

Result<std::set<std::string>> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.insert(entry->path().filename().string());
  if (error) return FileError(ErrorCode::kUnavailable, "read", folder, error.value());
  return names;
}

// Selects the files that may be removed. No process is making an entry now, so temporary files belong to dead
// processes. An entry is removed together with its manifest.
class Rubbish {
 public:
  Rubbish(const fs::path& folder, const std::set<std::string>& names, const std::set<std::string>& kept,
          Instant older_than)
      : folder_(folder), names_(names), kept_(kept), older_than_(older_than) {}

  bool MayGo(const std::string& name) const {
    if (name == ".lock" || kept_.contains(name)) return false;
    if (name.starts_with(kManifest)) {
      const std::string entry = name.substr(kManifest.size());
      return !names_.contains(entry) || MayGo(entry);
    }
    if (name.starts_with(kDamaged))  // e.g. ".damaged-<name>.<hex>"
      return !kept_.contains(name.substr(kDamaged.size(), name.rfind('.') - kDamaged.size()));
    return (name.front() == '.' && !name.starts_with(EntryStore::kHashesPrefix)) ||
           IsOlder(folder_ / name, older_than_);
  }

 private:
  const fs::path& folder_;
  const std::set<std::string>& names_;
  const std::set<std::string>& kept_;
  Instant older_than_;
};

Result<std::vector<fs::path>> Rename(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> renamed;
  for (const std::string& name : names) {
    // A name that begins with kOld is not changed again, because another process may be removing the file by this name.
    const bool is_old = name.starts_with(kOld);
    renamed.push_back(folder / (is_old ? name : StrCat(kOld, name, ".", RandomHex(4))));
    if (!is_old && rename((folder / name).c_str(), renamed.back().c_str()) != 0)
      return FileError(ErrorCode::kCannotWrite, "remove", folder / name, errno);
  }
  return renamed;
}

}  // namespace

Result<EntryStore::Swept> EntryStore::Sweep(const fs::path& folder, const FindKept& find_kept, Instant older_than,
                                            Duration limit, bool dry_run) {
  Swept swept;
  std::error_code error;
  if (!fs::exists(folder, error)) return swept;
  const RealClock clock;
  const Instant end = clock.Now() + limit;
  TRY_ASSIGN(UniqueFd lock, LockFile(folder / ".lock", LockKind::kExclusive, [&] { return clock.Now() >= end; }));
  TRY_ASSIGN(const std::set<std::string> kept, find_kept());
  TRY_ASSIGN(const std::set<std::string> names, NamesIn(folder));
  const Rubbish rubbish(folder, names, kept, older_than);
  std::vector<std::string> going;
  std::ranges::copy_if(names, std::back_inserter(going), [&](const auto& name) { return rubbish.MayGo(name); });
  // The result does not list the store's own files.
  std::ranges::copy_if(going, std::back_inserter(swept.names), [](const std::string& name) {
    return !name.starts_with(kManifest) && !name.starts_with(kHashesPrefix);
  });
  for (const std::string& name : names) {
    if (name.front() == '.') continue;
    if (kept.contains(name)) {
      ++swept.in_use;
    } else if (!rubbish.MayGo(name)) {
      ++swept.young;
    }
  }
  std::vector<fs::path> old;
  if (dry_run) {
    for (const std::string& name : going) old.push_back(folder / name);
  } else {
    TRY_ASSIGN(old, Rename(folder, going));
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
