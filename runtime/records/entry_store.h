// What a file looks like from outside, by which it is recognized without being read: device, inode, size, and the times
// of modification and change, of which no program can set back the second.
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

// A file that was changed shortly before it was read may be changed again without its stamp telling: times have the
// ticks of a clock, 4 ms on most machines, 2 s on some file systems.
inline bool HasSettled(const FileStamp& stamp, Instant read) {
  constexpr Duration kTick{2000};
  return stamp.changed < ToMillis(read - kTick) * 1'000'000;
}

// What a file or folder that never changes looked like when it was made: enough to see later, without reading it, that
// it is still that.
//
// Compared are names, kinds, sizes, modes, targets of links, and of files the times of modification and change, which
// no program can set back. A disk that gives other bytes under the same times is not noticed.

// Of a file, or of a folder with all that is in it; links are not followed. kUnavailable names what cannot be read.
Result<std::string> ManifestOf(const std::filesystem::path& path);

struct ManifestMatch {
  enum class State {
    kSame,
    kMaybe,  // only times differ, as after a restore from a backup; or the manifest itself is damaged
    kDiffers,
  };
  State state = State::kMaybe;
  std::string first;  // "lib/a.so is missing"; kMaybe: "the times of lib/a.so differ"
};

// `kept`: what ManifestOf() gave then; any bytes are allowed.
ManifestMatch CompareManifests(std::string_view kept, std::string_view present);

// Who watches files being staged or sent, and may stop it.

struct StageProgress {
  std::string what;    // "src_dir /x/app"
  int64_t done = 0;    // bytes of sources gone through: to be hashed, and once more where they are put into a store
  int64_t total = 0;   // as far as it is known: it grows when a source turns out not to be in the store
  int64_t copied = 0;  // bytes written into the store; 0 in the end: everything was there
};

struct StageWatch {
  // Called on the staging thread, every few milliseconds while bytes move.
  std::function<void(const StageProgress&)> on_progress = [](const StageProgress&) {};
  std::stop_token stop;  // when asked, the staging ends soon, with kUnavailable and nothing left
  // Called on the staging thread: what had been staged of this source is damaged, and is made anew.
  std::function<void(const std::string& what, const std::string& damage)> on_damage = [](const auto&, const auto&) {};
};

// A folder of the user's with entries that are made once, by name, and shared by jobs as long as one refers to them.
//
//   <name>                 an entry: a file or a folder; complete or not there; it never changes
//   .manifest-<name>       what the entry looked like when it was made (entry_store.h): so damage is noticed
//   .new-<name>.<hex>      an entry that is being made, by the holder of the lock .busy-<name>
//   .damaged-<name>.<hex>  an entry that was replaced by a sound one, kept for the jobs that had begun with it
//   .hashes-<source>       what the users of the store know of a source by its looks; removed as entries are, by age
//   .old-<name>.<hex>      what is being removed; nobody uses such a name
//   .lock                  held shared by whoever looks for entries until a job refers to them, and alone by whoever
//                          removes entries

class EntryStore {
 public:
  // Makes the folder and waits for whoever removes entries. As long as the object lives nobody does. kUnavailable:
  // `stop` was asked.
  static Result<EntryStore> Open(const std::filesystem::path& folder, const std::stop_token& stop);

  const std::filesystem::path& folder() const { return folder_; }

  static constexpr std::string_view kHashesPrefix = ".hashes-";

  // How an entry is made, and made again.
  struct Maker {
    // Makes it under the temporary path that it is given.
    std::function<Status(const std::filesystem::path& temporary)> make;
    // Whether what is there is what its name says: reads it whole. Asked where the manifest does not tell. Nothing: it
    // cannot be told, so the entry is made anew.
    std::function<Result<bool>(const std::filesystem::path& entry)> verify{};
    // Told before a damaged entry is made anew, with what is wrong: "lib/a.so is missing".
    std::function<void(const std::string& damage)> on_damage = [](const std::string&) {};
  };
  // The entry `name`, made if there is none or if it is damaged. Only one process makes an entry, others wait for it; a
  // failure leaves what was there. A sound entry takes the place of a damaged one in one step; what is open in the old
  // one, and folders that processes are in, stay as they are.
  Result<std::filesystem::path> Keep(const std::string& name, const std::stop_token& stop, const Maker& maker) const;

  // What Sweep() has removed, or would.
  struct Swept {
    std::vector<std::string> names;
    int64_t bytes = 0;
    size_t in_use = 0, young = 0;  // entries that stay: `find_kept` gives them; they are not old enough
  };
  // Removes entries whose names `find_kept` does not give and that were made before `older_than`, and what dead
  // processes left unfinished. By name: a folder may be reached by several paths.
  // `find_kept` is called when nobody can be looking for entries any more. kUnavailable: somebody is, for longer than
  // `limit`; nothing was removed. No folder: nothing to do. Killed at any moment it leaves .old-<name> for the next.
  using FindKept = std::function<Result<std::set<std::string>>()>;
  static Result<Swept> Sweep(const std::filesystem::path& folder, const FindKept& find_kept, Instant older_than,
                             Duration limit, bool dry_run);

 private:
  EntryStore(std::filesystem::path folder, UniqueFd lock) : folder_(std::move(folder)), lock_(std::move(lock)) {}
  std::filesystem::path ManifestPath(const std::string& name) const { return folder_ / (".manifest-" + name); }
  bool IsSound(const std::string& name) const;
  Status KeepAlone(const std::string& name, const Maker& maker) const;
  Result<std::string> FindDamage(const std::string& name, const Maker& maker) const;
  void RemoveHalves(const std::string& name) const;
  Status MakeEntry(const std::string& name, const Maker& maker) const;
  Status Place(const std::filesystem::path& temporary, const std::string& name) const;
  void WriteManifest(const std::string& name) const;

  std::filesystem::path folder_;
  UniqueFd lock_;
};

// What the file, or all in the folder, takes on the disk.
int64_t DiskUse(const std::filesystem::path& path);

}  // namespace tony
