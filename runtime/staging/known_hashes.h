// The hashes of a source's files as they were found last, so that a second submit need not read 800 MB again. A file is
// known by its stamp (file_stamp.h). Only a shortcut: what cannot be remembered is read, and whatever is put into the
// store is hashed on the way, so a wrong one costs a refused submit and never makes a wrong entry.
//
// It is wrong where a file changes and its stamp does not: through a mapping into memory that was written to before the
// file was read; on a file system whose times have ticks of a second and whose clock is behind; by a disk that is
// written to past its file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "runtime/base/time.h"
#include "runtime/records/file_stamp.h"

namespace tony {

class KnownHashes {
 public:
  // Of sources below this size, in bytes: they are hashed in 50 ms.
  static constexpr int64_t kNotWorthIt = int64_t{16} << 20;

  // Those of `source`, a file or a folder of `bytes`, from the store's folder. Unreadable ones are as none.
  static KnownHashes Load(const std::filesystem::path& store, const std::filesystem::path& source, int64_t bytes);
  static KnownHashes None() { return {}; }

  // "": not known.
  std::string Find(const FileStamp& stamp);
  // `read`: when the reading of the file began, whose stamp was the same afterwards.
  void Add(const FileStamp& stamp, const std::string& hash, Instant read);
  // Writes those that were found or added since Load(), if that are others than it read.
  void Keep() const;
  // Something read was not what was known.
  void Forget() const;

 private:
  KnownHashes() = default;

  std::filesystem::path file_;  // empty: nothing is remembered
  std::map<FileStamp, std::string> known_, seen_;
};

}  // namespace tony
