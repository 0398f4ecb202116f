// The user's store of staged content on this machine: $TONY_HOME/staged, an EntryStore.
//
//   <hash>            a file; <hash>-x: an executable one
//   <hash>-tree       a folder, named by the hash of all that is in it
//   <hash>-unpacked   what was in the archive of that hash; -environment: a Python environment that leads to itself
//
// Entries are complete or not there and never change: read-only, files and folders.
#pragma once

#include <filesystem>
#include <stop_token>
#include <utility>

#include "runtime/base/result.h"
#include "runtime/records/entry_store.h"

namespace tony {

class StagedStore {
 public:
  // As EntryStore::Open().
  static Result<StagedStore> Open(const std::filesystem::path& home, const std::stop_token& stop) {
    TRY_ASSIGN(EntryStore entries, EntryStore::Open(FolderOf(home), stop));
    return StagedStore(home, std::move(entries));
  }
  static std::filesystem::path FolderOf(const std::filesystem::path& home) { return home / "staged"; }

  const std::filesystem::path& home() const { return home_; }
  const EntryStore& entries() const { return entries_; }

 private:
  StagedStore(std::filesystem::path home, EntryStore entries) : home_(std::move(home)), entries_(std::move(entries)) {}

  std::filesystem::path home_;
  EntryStore entries_;
};

}  // namespace tony
