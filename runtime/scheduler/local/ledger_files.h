// The files of a ledger's folder, one at a time: names, content, locks. Each is another user's perhaps, and may hold
// anything.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/scheduler/local/ledger.h"

namespace tony {

// What a file's name says of an entry.
struct EntryName {
  int64_t number = 0;
  JobId job;
  bool admitted = false;
};
std::string NameOf(const LedgerEntry& entry);                      // "0000000012.local-...-4f2a9c.waiting"
std::optional<EntryName> ParseEntryName(const std::string& name);  // nothing: not the name of an entry
bool IsUnfinished(const std::string& name);                        // of an entry in the making
std::string UnfinishedName();

std::string EntryJson(const LedgerEntry& entry);

// All names in the folder; kNotFound: there is no folder.
Result<std::vector<std::string>> NamesIn(const std::filesystem::path& folder);

bool IsHeld(int fd);      // whether anybody holds a lock on it by another open file
Status TakeHold(int fd);  // of one byte that nobody holds

// A regular file, opened so that nothing there can make us wait, and its owner. Nothing: it is gone.
struct OpenEntry {
  UniqueFd fd;
  uid_t owner = 0;
  int64_t size = 0;
};
Result<std::optional<OpenEntry>> OpenFile(const std::filesystem::path& path, int flags);

// The content of a file of at most 64 KiB.
Result<std::string> ReadSmall(const OpenEntry& file);
Result<LedgerEntry> EntryFrom(const EntryName& name, const OpenEntry& file);

}  // namespace tony
