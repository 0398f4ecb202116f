// Files in HDFS that programs of other users read.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/records/files_for_others.h"

namespace tony {

// By WebHDFS, on a loop of its own. Paths are as "hdfs://nn:8020/x", of this file system whatever they say.
class HdfsFilesForOthers : public FilesForOthers {
 public:
  explicit HdfsFilesForOthers(hadoop::WebHdfs::Options options) : hdfs_(loop_, std::move(options)) {}

  Status MakeFolder(const std::string& path) const override;
  Status Write(const std::string& path, std::string_view content) const override;
  Status Remove(const std::string& path) const override;

 private:
  template <class T, class Start>
  Result<T> Ask(const std::string& path, Start start) const;

  mutable std::mutex mutex_;
  mutable EventLoop loop_;  // guarded by mutex_, as is the next one
  mutable hadoop::WebHdfs hdfs_;
};

}  // namespace tony
