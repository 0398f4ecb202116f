// Files that programs of other users read, as TonY's portal does. Seam: FilesOnThisMachine(), and HDFS
// (records/hdfs/hdfs_files_for_others.h).
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

inline constexpr int kFolderForOthers = 0770;  // as TonY's
inline constexpr int kFileForOthers = 0640;

// Any thread; each call waits for the file system. kCannotWrite. kNotPermitted: on this machine the folder of a file is
// a link or belongs to another user, whom the message names. HDFS also answers kNotPermitted and kUnavailable.
class FilesForOthers {
 public:
  virtual ~FilesForOthers() = default;
  virtual Status MakeFolder(const std::string& path) const = 0;  // kFolderForOthers; those above it as usual
  virtual Status Write(const std::string& path,
                       std::string_view content) const = 0;  // kFileForOthers, whole or not at all
  virtual Status Remove(const std::string& path) const = 0;  // harmless if it is gone
};

const FilesForOthers& FilesOnThisMachine();

}  // namespace tony
