// The store of programs, $TONY_HOME/programs. A job continues to use its programs while other releases are installed.
//
//   <hash>/           the programs of a release, copied when the first job used them; the hash is the hash of their
//                     names and contents
//   <hash>/manifest   hash, size, inode and times of each copy; written last. A copy that differs is made again
//   known             the hash of installed files, by device, inode, size and times, so that they are read only once
//   .lock             shared: held by a submit until its job refers to an entry; exclusive: held while an entry is made
//                     or removed
//
// Everything is private to the user. Copies never change: a repair renames a new file to the name of the copy.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/entry_store.h"

namespace tony {

struct StoredPrograms {
  std::string hash;  // name of the entry; empty: none
  // The entry is not removed as long as this lock is held.
  UniqueFd lock;
};

// Returns an entry with complete copies of the installed files, under their names, in the store of `home`; makes the
// entry if it is missing. If the entry exists, each file is only checked by its stamp (inode, size and times) and not
// read. kNotPermitted: `home` does not let programs run. kCannotWrite: the disk is full, or permission is missing.
// kUnavailable: another process held the lock for too long, or the files were replaced meanwhile. A failure leaves no
// entry that a later call would use.
Result<StoredPrograms> StorePrograms(const std::filesystem::path& home,
                                     const std::vector<std::filesystem::path>& installed, Instant now);

// Removes the entries that were made before `older_than` and that `find_kept` does not name. Also removes what dead
// processes left, as EntryStore::Sweep() does. `find_kept` is called at a time when no submit is between
// StorePrograms() and the record of its job.
Result<EntryStore::Swept> RemoveUnusedPrograms(const std::filesystem::path& home, const EntryStore::FindKept& find_kept,
                                               Instant older_than, Duration limit, bool dry_run);

// Returns true if programs may run in `home`, or in the nearest existing folder above it (no mount option noexec).
bool AllowsExecution(const std::filesystem::path& home);

}  // namespace tony
