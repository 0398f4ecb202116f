// The single files in the folder of a ledger: names, content, locks. A file may belong to another user and may contain
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

// The part of an entry that its file name contains.
struct EntryName {
  int64_t number = 0;
  JobId job;
  Place place = Place::kQueued;
};
std::string NameOf(const LedgerEntry& entry);  // e.g. "0000000012.local-...-4f2a9c.waiting"
std::string NameOf(const EntryName& name);
std::optional<EntryName> ParseEntryName(const std::string& name);  // nullopt: not an entry's name
std::string UnfinishedName();                                      // name of an entry being written

std::string EntryJson(const LedgerEntry& entry);

// Returns all names in the folder; kNotFound if the folder does not exist.
Result<std::vector<std::string>> NamesIn(const std::filesystem::path& folder);

// Returns true if another open file description holds a write lock on the file. If only the owner may write to the
// file, this lock is the owner's. Read locks are ignored, because every user who can read the file may take one. If the
// kernel does not answer, the result is also true, because a file without a lock gets removed.
bool IsHeld(int fd);
// Takes a write lock on the first byte that is free. kUnavailable: other processes hold read locks on all bytes. `path`
// is for the message.
Status LockFreeByte(int fd, const std::filesystem::path& path);

// A regular file that was opened without the risk of blocking, and its properties as fstat(2) returned them.
struct OpenEntry {
  UniqueFd fd;
  uid_t owner = 0;
  mode_t mode = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  uint64_t names = 1;  // hard links
};
// Opens the file; nullopt if it does not exist. kUnavailable: this process has no free file descriptor, which says
// nothing about the state of the file.
Result<std::optional<OpenEntry>> OpenFile(const std::filesystem::path& path, int flags);

// Returns the content of a file of at most 64 KiB. kUnavailable: the file cannot be read; kInvalid: the file is longer.
Result<std::string> ReadSmall(const OpenEntry& file);
// Parses the file of an entry. The caller makes the process check.
Result<UncheckedEntry> SightingOf(const EntryName& name, const OpenEntry& file);
Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file);

// Reads all files of a ledger's folder, with bounded work whatever other users put there. Files whose names are
// not those of entries are not opened, except machine.json. Entries of one other user beyond kMostOfOneUser are not
// opened, and files above 64 KiB are not read.

// Returns the entries in the folder. `remove_dead` also removes files that no process has locked and that this process
// may remove; it needs the ledger's lock.
Result<LedgerView> ReadLedgerFolder(const std::filesystem::path& folder, bool remove_dead);

// Returns the content of machine.json in the folder, or `detected` if that file does not exist. kInvalid: the file
// cannot be used, and `detected` applies.
Result<StatedMachine> ReadStatedMachine(const std::filesystem::path& folder, const Machine& detected);

}  // namespace tony
