// The files of a ledger's folder, one at a time: names, content, locks. Each is another user's perhaps, and may hold
// anything.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/ledger/ledger.h"
#include "runtime/ledger/ledger_folder.h"
#include "runtime/ledger/machine.h"

namespace tony {

// What a file's name says of an entry.
struct EntryName {
  int64_t number = 0;
  JobId job;
  Place place = Place::kInLine;
};
std::string NameOf(const LedgerEntry& entry);  // "0000000012.local-...-4f2a9c.waiting"
std::string NameOf(const EntryName& name);
std::optional<EntryName> ParseEntryName(const std::string& name);  // nothing: not the name of an entry
std::string UnfinishedName();                                      // of an entry in the making

std::string EntryJson(const LedgerEntry& entry);

// All names in the folder; kNotFound: there is no folder.
Result<std::vector<std::string>> NamesIn(const std::filesystem::path& folder);

// Whether anybody holds a lock on it for writing, by another open file: its owner then, if only he may write to it.
// Whoever can read the file may hold a lock for reading on it, so such locks show nothing. True, too, where the kernel
// does not tell: what nobody holds is removed.
bool IsHeld(int fd);
// Of one byte that nobody holds. kUnavailable: others hold locks for reading on all of them. `path` is for the message.
Status TakeHold(int fd, const std::filesystem::path& path);

// A regular file, opened so that nothing there can make us wait, and what the kernel knows of it. Nothing: it is gone.
struct OpenEntry {
  UniqueFd fd;
  uid_t owner = 0;
  mode_t mode = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  uint64_t names = 1;  // hard links
};
// kUnavailable: this process may have no more descriptors; it says nothing of the file.
Result<std::optional<OpenEntry>> OpenFile(const std::filesystem::path& path, int flags);

// The content of a file of at most 64 KiB. kUnavailable: it cannot be read; kInvalid: it is longer.
Result<std::string> ReadSmall(const OpenEntry& file);
// Nobody has looked at its processes yet.
Result<Sighting> SightingOf(const EntryName& name, const OpenEntry& file);
Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file);

// One look at all files of a ledger's folder. Bounded whatever strangers put there: files that are no entries cost a
// name, entries of one user beyond kMostOfOneUser are not opened, and no file is read beyond 64 KiB.

// `remove_dead`: what nobody holds and we may remove. Only under the ledger's lock.
Result<LedgerView> LookAtLedger(const std::filesystem::path& folder, bool remove_dead);

// machine.json in the folder. kInvalid where it cannot be used: then `detected` counts.
Result<StatedMachine> ReadStatedMachine(const std::filesystem::path& folder, const Machine& detected);

}  // namespace tony
