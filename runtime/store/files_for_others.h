// Files that programs of other users read, as TonY's portal does. Seam: FilesOnThisMachine(), and HDFS
// (store/hdfs/hdfs_files_for_others.h).
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.h"

namespace tony {

// Any thread; each call waits for the file system. kCannotWrite, and of HDFS kNotPermitted and kUnavailable too.
class FilesForOthers {
 public:
  virtual ~FilesForOthers() = default;
  virtual Status MakeFolder(const std::string& path) const = 0;  // 0770; those above it as they are usually made
  virtual Status Write(const std::string& path, std::string_view content) const = 0;  // 0640, whole or not at all
  virtual Status Remove(const std::string& path) const = 0;                           // harmless if it is gone
};

const FilesForOthers& FilesOnThisMachine();

}  // namespace tony
