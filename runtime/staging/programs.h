// The programs that jobs go on with while others are installed: $TONY_HOME/programs.
//
//   <hash>/           the programs of a release, as they were when the first job used them; the hash is that of their
//                     names and contents
//   <hash>/manifest   hash, size, inode and times of each copy; written last. What does not agree with it is made anew
//   known             which installed files, by device, inode, size and times, have which hash: they are read once
//   .lock             held shared by a submit until its job refers to an entry, alone by whoever makes or removes one
//
// Everything is private to the user. Copies never change: who repairs one gives its name to a new file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/base/unique_fd.h"
#include "runtime/records/entry_store.h"

namespace tony {

struct KeptPrograms {
  std::string hash;  // the name of the entry; empty: none
  UniqueFd lock;     // as long as it is held nobody removes the entry
};

// A complete copy of these files, by their names, in the store of `home`; made if there is none. With one there it
// takes a look at each file and reads none. kNotPermitted: programs do not run in `home`. kCannotWrite: no room, or no
// right; kUnavailable: somebody held the lock for too long, or the files were replaced meanwhile. A failure leaves no
// entry that would be used.
Result<KeptPrograms> KeepPrograms(const std::filesystem::path& home,
                                  const std::vector<std::filesystem::path>& installed, Instant now);

// Removes the entries that `find_kept` does not name and that were made before `older_than`, and what dead processes
// left; see EntryStore::Sweep(). `find_kept` is called when no submit is between KeepPrograms() and its job.
Result<EntryStore::Swept> SweepPrograms(const std::filesystem::path& home, const EntryStore::FindKept& find_kept,
                                        Instant older_than, Duration limit, bool dry_run);

// Whether programs may run in `home`, or would in the nearest folder above it that is there (mount option noexec).
bool LetsProgramsRun(const std::filesystem::path& home);

}  // namespace tony
