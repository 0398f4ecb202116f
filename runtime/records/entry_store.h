// `FileStamp` identifies the state of a file without its content: device, inode, size, and the times of modification
// and change. A program cannot set back the time of change (ctime).
#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/strings.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony {

struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size = 0;                   // bytes
  int64_t modified = 0, changed = 0;  // nanoseconds since 1970

  auto operator<=>(const FileStamp&) const = default;
};

inline FileStamp StampOf(const struct stat& info) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

inline std::string ToString(const FileStamp& stamp) {
  return StrCat(stamp.device, ":", stamp.inode, ":", stamp.size, ":", stamp.modified, ":", stamp.changed);
}

// Returns true if the stamp was taken long enough after the file's last change. A file that changed shortly before it
// was read may change again without getting another stamp, because file times advance in ticks: 4 ms on most machines,
// 2 s on some file systems.
inline bool IsStampReliable(const FileStamp& stamp, Instant read) {
  constexpr Duration kTick{2000};
  return stamp.changed < ToMillis(read - kTick) * 1'000'000;
}

// Manifests. A manifest describes how a file or folder that must never change looked when it was made. A later
// comparison finds changes without reading the content.
//
// A comparison covers names, kinds, sizes, modes and targets of links, and for files the times of modification and
// change. The time of change cannot be set back by a program. If a disk returns other bytes under the same times, the
// comparison does not notice.

// Returns the manifest of a file, or of a folder with all its content; links are not followed. kUnavailable: an entry
// cannot be read, and the message names it.
Result<std::string> ManifestOf(const std::filesystem::path& path);

struct ManifestMatch {
  enum class State {
    kSame,
    // Only times differ, for example after a restore from a backup, or the manifest itself is damaged.
    kMaybe,
    kDiffers,
  };
  State state = State::kMaybe;
  // The first difference, e.g. "lib/a.so is missing", or for kMaybe "the times of lib/a.so differ".
  std::string first;
};

// Compares two manifests. `kept` is an earlier result of ManifestOf() as read from disk, so it may contain anything.
ManifestMatch CompareManifests(std::string_view kept, std::string_view present);

// Callbacks that report how the staging or the upload of files proceeds, and a token that stops the work.

struct StageProgress {
  std::string what;  // e.g. "src_dir /x/app"
  // The bytes of sources that were processed. A source counts once when it is read for its hash, and once more when it
  // is put into a store.
  int64_t done = 0;
  // The total of `done` as far as it is known. It grows whenever a source turns out to be missing from the store.
  int64_t total = 0;
  // The bytes written into the store. If the value is 0 at the end, the store already had everything.
  int64_t copied = 0;
};

struct StageWatch {
  // Called on the staging thread, every few milliseconds while bytes move.
  std::function<void(const StageProgress&)> on_progress = [](const StageProgress&) {};
  // After a stop request, the staging ends soon with kUnavailable, and leaves nothing behind.
  std::stop_token stop;
  // Called on the staging thread when the store's copy of a source is damaged and is made again.
  std::function<void(const std::string& what, const std::string& damage)> on_damage = [](const auto&, const auto&) {};
};

// EntryStore is a folder of the user with named entries. Each entry is made once and shared by jobs. An entry is kept
// as long as a job refers to it.
//
//   <name>                 an entry: a file or a folder; complete or missing; it never changes
//   .manifest-<name>       the entry's manifest from the time when it was made; shows later damage
//   .new-<name>.<hex>      an entry that is being made, by the holder of the lock .busy-<name>
//   .damaged-<name>.<hex>  a damaged entry that was replaced; kept for the jobs that started with it
//   .hashes-<source>       hashes of a source's files by their stamps; removed by age, as entries are
//   .old-<name>.<hex>      a file that is being removed; no process uses such a name
//   .lock                  locked (shared) by a process that searches entries, until a job refers to them; locked
//                          (exclusively) by a process that removes entries

class EntryStore {
 public:
  // Opens the store, and makes the folder if it is missing. Waits while another process removes entries. While this
  // object lives, no process removes entries. kUnavailable: a stop was requested.
  static Result<EntryStore> Open(const std::filesystem::path& folder, const std::stop_token& stop);

  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::string_view kHashesPrefix = ".hashes-";

  // The functions that make an entry, and that make it again after damage.
  struct Maker {
    // Makes the entry under the given temporary path.
    std::function<Status(const std::filesystem::path& temporary)> make;
    // Reads the whole entry and returns true if its content matches its name. Called if the manifest alone does not
    // show whether the entry is sound. If no function is set, such an entry is made again.
    std::function<Result<bool>(const std::filesystem::path& entry)> verify{};
    // Called before a damaged entry is made again. The argument describes the damage, e.g. "lib/a.so is missing".
    std::function<void(const std::string& damage)> on_damage = [](const std::string&) {};
  };
  // Returns the path of the entry `name`, and makes the entry first if it is missing or damaged. Only one process makes
  // an entry; others wait for it. A sound entry replaces a damaged one in one step; if it cannot be made, the old entry
  // stays. Files of the old entry that are open, and folders in which processes work, stay as they are.
  Result<std::filesystem::path> Keep(const std::string& name, const std::stop_token& stop, const Maker& maker) const;

  // The result of Sweep(): what it removed, or with `dry_run` what it would remove.
  struct Swept {
    std::vector<std::string> names;
    int64_t bytes = 0;
    // The number of entries that stay because `find_kept` names them (in_use), or because they are too new (young).
    size_t in_use = 0, young = 0;
  };
  // Removes the entries that `find_kept` does not name and that were made before `older_than`, and the unfinished files
  // of dead processes. `find_kept` returns names, because a folder may be reached by several paths. `find_kept` is
  // called when no other process can be searching entries any more. kUnavailable: another process was still searching
  // after `limit`, and nothing was removed. If the folder is missing, there is nothing to do. If a call is killed, the
  // next call removes the remaining .old-<name>.
  using FindKept = std::function<Result<std::set<std::string>>()>;
  static Result<Swept> Sweep(const std::filesystem::path& folder, const FindKept& find_kept, Instant older_than,
                             Duration limit, bool dry_run);

 private:
  EntryStore(std::filesystem::path folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  std::filesystem::path ManifestPath(const std::string& name) const { return folder_ / (".manifest-" + name); }
  bool IsSound(const std::string& name) const;
  Status KeepAlone(const std::string& name, const Maker& maker) const;
  Result<std::string> FindDamage(const std::string& name, const Maker& maker) const;
  void RemoveUnfinishedEntries(const std::string& name) const;
  Status MakeEntry(const std::string& name, const Maker& maker) const;
  Status Place(const std::filesystem::path& temporary, const std::string& name) const;
  void WriteManifest(const std::string& name) const;

  std::filesystem::path folder_;
  UniqueFd lock_;
};

// Returns the disk space of a file, or of everything in a folder, in bytes.
int64_t DiskUse(const std::filesystem::path& path);

}  // namespace tony
