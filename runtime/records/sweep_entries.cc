// EntryStore::Sweep(): what is there is sorted and renamed while nobody looks for entries; only then, when submits need
// not wait any more, it is removed.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "runtime/base/strings.h"
#include "runtime/os/file_lock.h"
#include "runtime/os/files.h"
#include "runtime/records/entry_store.h"

namespace tony {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOld = ".old-", kDamaged = ".damaged-", kManifest = ".manifest-";

bool IsOlder(const fs::path& path, Instant than) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return false;
  // Not when its content was modified, which is the source's time, but when it was put here.
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

// ".damaged-<name>.<hex>" -> "<name>".
std::string NameOfDamaged(const std::string& name) {
  return name.substr(kDamaged.size(), name.rfind('.') - kDamaged.size());
}

// What may go: nobody is making an entry, so temporaries are of the dead. The manifest of an entry goes with it.
class Rubbish {
 public:
  Rubbish(const fs::path& folder, const std::set<std::string>& names, const std::set<std::string>& kept,
          Instant older_than)
      : folder_(folder), names_(names), kept_(kept), older_than_(older_than) {}

  bool MayGo(const std::string& name) const {
    if (name == ".lock" || kept_.contains(name)) return false;
    if (name.starts_with(kManifest)) return !Stays(name.substr(kManifest.size()));
    if (name.starts_with(kDamaged)) return !kept_.contains(NameOfDamaged(name));
    return (name.front() == '.' && !name.starts_with(EntryStore::kHashesPrefix)) ||
           IsOlder(folder_ / name, older_than_);
  }

 private:
  bool Stays(const std::string& entry) const { return names_.contains(entry) && !MayGo(entry); }

  const fs::path& folder_;
  const std::set<std::string>& names_;
  const std::set<std::string>& kept_;
  Instant older_than_;
};

// Removed files of the store's own are not worth a line.
bool IsWorthALine(const std::string& name) {
  return !name.starts_with(kManifest) && !name.starts_with(EntryStore::kHashesPrefix);
}

Result<std::vector<fs::path>> Rename(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<fs::path> renamed;
  for (const std::string& name : names) {
    // What has such a name already may be in the hands of another who removes it.
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
  TRY_ASSIGN(UniqueFd lock, LockFile(folder / ".lock", LockKind::kAlone, [&] { return clock.Now() >= end; }));
  TRY_ASSIGN(const std::set<std::string> kept, find_kept());
  TRY_ASSIGN(const std::set<std::string> names, NamesIn(folder));
  const Rubbish rubbish(folder, names, kept, older_than);
  std::vector<std::string> going;
  std::ranges::copy_if(names, std::back_inserter(going), [&](const auto& name) { return rubbish.MayGo(name); });
  std::ranges::copy_if(going, std::back_inserter(swept.names), IsWorthALine);
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
