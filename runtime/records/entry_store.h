// A file's stamp, by which the file is recognized without being read: device, inode, size, and the times of
// modification and change. No program can set back the time of change.
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

// Returns true if the stamp can be trusted. A file that was changed shortly before it was read may change again with
// the same stamp, because times have the ticks of a clock: 4 ms on most machines, 2 s on some file systems.
inline bool IsStampReliable(const FileStamp& stamp, Instant read) {
  constexpr Duration kTick{2000};
  return stamp.changed < ToMillis(read - kTick) * 1'000'000;
}

// A manifest describes how a file or folder that never changes looked when it was made. A later comparison finds
// changes without reading the content.
//
// A comparison covers names, kinds, sizes, modes and targets of links, and for files the times of modification and
// change. No program can set back the time of change. A disk that returns other bytes under the same times is not
// noticed.

// Returns the manifest of a file, or of a folder with all its content; links are not followed. kUnavailable names what
// cannot be read.
Result<std::string> ManifestOf(const std::filesystem::path& path);

struct ManifestMatch {
  enum class State {
    kSame,
    // Only times differ, for example after a restore from a backup; or the manifest itself is damaged.
    kMaybe,
    kDiffers,
  };
  State state = State::kMaybe;
  // The first difference: "lib/a.so is missing"; for kMaybe: "the times of lib/a.so differ".
  std::string first;
};

// `kept` is the earlier result of ManifestOf(); any bytes are allowed.
ManifestMatch CompareManifests(std::string_view kept, std::string_view present);

// Callbacks for a process that watches files being staged or uploaded, and a way to stop this.

struct StageProgress {
  std::string what;  // "src_dir /x/app"
  // Bytes of sources that were processed: read for the hash, and once more when they are put into a store.
  int64_t done = 0;
  // The total as far as it is known. It grows when a source turns out to be missing from the store.
  int64_t total = 0;
  // Bytes written into the store; 0 at the end means that everything was there already.
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

// EntryStore is a folder of the user with entries that are made once, by name. Jobs share an entry as long as one of
// them refers to it.
//
//   <name>                 an entry: a file or a folder; complete or missing; it never changes
//   .manifest-<name>       the entry's manifest from the time when it was made, by which damage is noticed
//   .new-<name>.<hex>      an entry that is being made, by the holder of the lock .busy-<name>
//   .damaged-<name>.<hex>  an entry that was replaced by a sound one, kept for the jobs that had started with it
//   .hashes-<source>       hashes of a source's files by their stamps; removed by age, as entries are
//   .old-<name>.<hex>      a file that is being removed; no process uses such a name
//   .lock                  held shared by a process that searches entries, until a job refers to them; held alone by a
//                          process that removes entries

class EntryStore {
 public:
  // Makes the folder, and waits while another process removes entries. No process removes entries as long as the object
  // lives. kUnavailable: a stop was requested.
  static Result<EntryStore> Open(const std::filesystem::path& folder, const std::stop_token& stop);

  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::string_view kHashesPrefix = ".hashes-";

  // How an entry is made, and made again after damage.
  struct Maker {
    // Makes the entry under the given temporary path.
    std::function<Status(const std::filesystem::path& temporary)> make;
    // Reads the whole entry and returns true if its content matches its name. Called if the manifest does not decide.
    // If this is empty, an entry in doubt is made again.
    std::function<Result<bool>(const std::filesystem::path& entry)> verify{};
    // Called before a damaged entry is made again, with the damage: "lib/a.so is missing".
    std::function<void(const std::string& damage)> on_damage = [](const std::string&) {};
  };
  // Returns the entry `name`, and makes it first if it is missing or damaged. Only one process makes an entry; others
  // wait for it. After a failure the old entry stays. A sound entry replaces a damaged one in one step. Open files of
  // the old entry, and folders in which processes work, stay as they are.
  Result<std::filesystem::path> Keep(const std::string& name, const std::stop_token& stop, const Maker& maker) const;

  // The result of Sweep(): what it removed, or would remove with `dry_run`.
  struct Swept {
    std::vector<std::string> names;
    int64_t bytes = 0;
    // Entries that stay, because `find_kept` names them (in_use), or because they are not old enough (young).
    size_t in_use = 0, young = 0;
  };
  // Removes entries that `find_kept` does not name and that were made before `older_than`; also removes what dead
  // processes left unfinished. Entries are compared by name, because a folder may be reached by several paths.
  // `find_kept` is called when no process can be searching entries any more. kUnavailable: a process still was after
  // `limit`; nothing was removed. If the folder is missing, there is nothing to do. A call that is killed leaves
  // .old-<name> for the next call.
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
