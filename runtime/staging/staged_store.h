// The user's store of staged content on this machine: $TONY_HOME/staged.
//
//   <hash>            a file; <hash>-x: an executable one
//   <hash>-tree       a folder, named by the hash of all that is in it
//   <hash>-unpacked   what was in the archive of that hash
//   .new-<name>       an entry that is being made, by the holder of the lock .busy-<name>
//   .old-<name>       one that is being removed
//   .lock             held shared by each submit from before it looks for entries until its job refers to them, and
//                     alone by whoever removes entries
//
// Entries are complete or not there and never change: read-only, files and folders.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"

namespace tony {

class StagedStore {
 public:
  // Makes the folder and waits for whoever removes entries. As long as the object lives nobody does. kUnavailable:
  // `stop` was asked.
  static Result<StagedStore> Open(const std::filesystem::path& home, const std::stop_token& stop);

  const std::filesystem::path& home() const { return home_; }
  const std::filesystem::path& folder() const { return folder_; }

  // The entry `name`. If there is none yet, `make` makes it under the temporary path that it is given. Only one process
  // makes an entry, others wait for it; a failure leaves nothing.
  using Make = std::function<Status(const std::filesystem::path& temporary)>;
  Result<std::filesystem::path> Keep(const std::string& name, const std::stop_token& stop, const Make& make) const;

  // What Sweep() has removed, or would.
  struct Swept {
    std::vector<std::string> names;
    int64_t bytes = 0;
  };
  // Removes entries whose names `find_kept` does not give and that were made before `older_than`, and what dead
  // processes left unfinished. By name: a home may be reached by several paths.
  // `find_kept` is called when nobody can be staging any more. kUnavailable: somebody is staging, for longer than
  // `limit`; nothing was removed. No store: nothing to do.
  using FindKept = std::function<Result<std::set<std::string>>()>;
  static Result<Swept> Sweep(const std::filesystem::path& home, const FindKept& find_kept, Instant older_than,
                             Duration limit, bool dry_run);

 private:
  StagedStore(std::filesystem::path home, std::filesystem::path folder, UniqueFd lock)
      : home_(std::move(home)), folder_(std::move(folder)), lock_(std::move(lock)) {}
  Status MakeEntry(const std::string& name, const Make& make) const;

  std::filesystem::path home_;
  std::filesystem::path folder_;
  UniqueFd lock_;
};

// What the file, or all in the folder, takes on the disk.
int64_t DiskUse(const std::filesystem::path& path);

}  // namespace tony
