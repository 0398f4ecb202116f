// A folder of the user's with entries that are made once, by name, and shared by jobs as long as one refers to them.
//
//   <name>                 an entry: a file or a folder; complete or not there; it never changes
//   .manifest-<name>       what the entry looked like when it was made (manifest.h): so damage is noticed
//   .new-<name>.<hex>      an entry that is being made, by the holder of the lock .busy-<name>
//   .damaged-<name>.<hex>  an entry that was replaced by a sound one, kept for the jobs that had begun with it
//   .hashes-<source>       what the users of the store know of a source by its looks; removed as entries are, by age
//   .old-<name>.<hex>      what is being removed; nobody uses such a name
//   .lock                  held shared by whoever looks for entries until a job refers to them, and alone by whoever
//                          removes entries
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony {

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
