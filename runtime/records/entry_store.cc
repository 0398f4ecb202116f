#include "runtime/records/entry_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/records/manifest.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostSingleSyncs = 64;

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

// Another name each time, which nobody takes for an entry.
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
  TRY_ASSIGN(const UniqueFd lock, LockFile(busy, LockKind::kAlone, [&] { return stop.stop_requested(); }));
  const Status kept = KeepAlone(name, maker);
  unlink(busy.c_str());  // while it is locked: see LockFile()
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

// Empty: there is none.
Result<std::string> EntryStore::FindDamage(const std::string& name, const Maker& maker) const {
  const fs::path entry = folder_ / name;
  const auto kept = ReadFile(ManifestPath(name));
  const auto present = ManifestOf(entry);
  if (!present.ok()) return present.error().message;
  const ManifestMatch match = CompareManifests(kept.ok() ? *kept : "", *present);
  if (match.state == ManifestMatch::State::kSame) return std::string();
  if (match.state == ManifestMatch::State::kDiffers || !maker.verify) return match.first;
  TRY_ASSIGN(const bool sound, maker.verify(entry));
  if (!sound) return std::string("its content is not what it was");
  WriteManifest(name);
  return std::string();
}

// Of makers that were killed. What a program of theirs goes on writing stays for Sweep().
void EntryStore::RemoveHalves(const std::string& name) const {
  const std::string half = ".new-" + name;
  std::vector<fs::path> halves;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string found = entry->path().filename().string();
    if (found == half || found.starts_with(half + ".")) halves.push_back(entry->path());
  }
  for (const fs::path& path : halves) (void)RemoveTree(path);
}

// The temporary name is new each time: of a maker that was killed a program may still be at work under the last one, as
// uv, and what it writes must not come into this entry.
Status EntryStore::MakeEntry(const std::string& name, const Maker& maker) const {
  RemoveHalves(name);
  const fs::path temporary = folder_ / AsideName("new", name);
  Status made = maker.make(temporary);
  if (made.ok()) made = Sync(temporary);
  if (made.ok()) made = Place(temporary, name);
  if (made.ok()) return SyncPath(folder_);
  const Status removed = RemoveTree(temporary);
  if (removed.ok()) return made;
  return Error{made.error().code, StrCat(made.error().message, "; ", removed.error().message)};
}

// In one step, so that no task that starts meanwhile misses the entry.
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
    exchange();  // what is under the temporary name is removed after a failure
    return status;
  }
  if (errno != EINVAL && errno != ENOSYS) return failed();
  // A file system that cannot, as NFS: for a moment there is none.
  if (rename(entry.c_str(), aside.c_str()) != 0 || rename(temporary.c_str(), entry.c_str()) != 0) return failed();
  return Ok();
}

// Once the entry has its name, since a rename changes a time. An entry without a manifest is verified by the next who
// wants it, so a failure costs time only.
void EntryStore::WriteManifest(const std::string& name) const {
  const auto manifest = ManifestOf(folder_ / name);
  if (manifest.ok()) (void)WriteFileByRename(ManifestPath(name), *manifest, /*durable=*/false);
}

}  // namespace tony
