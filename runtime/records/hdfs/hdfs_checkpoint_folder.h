// A checkpoint directory in HDFS. An entry is recognized by the id that the NameNode gave it: a file that is written
// again under the same name gets another id.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/event_loop.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/hdfs/hdfs_calls.h"

namespace tony {

class HdfsCheckpointFolder : public CheckpointFolder {
 public:
  // `file_system` is like "hdfs://nn.example.org:8020"; `user` is the owner of the job.
  HdfsCheckpointFolder(std::shared_ptr<HdfsCalls> calls, std::string file_system, std::string path, std::string user,
                       HdfsRetryPolicy patience = {})
      : hdfs_(std::move(calls), std::move(patience)),
        file_system_(std::move(file_system)),
        path_(std::move(path)),
        user_(std::move(user)) {}

  Result<std::string> Resolve() const override { return file_system_ + path_; }  // HDFS has no links
  Result<std::unique_ptr<CheckpointView>> Look() const override;

 private:
  Result<hadoop::HdfsEntry> Entry() const;

  const HdfsBytes hdfs_;
  const std::string file_system_, path_, user_;
};

// Writes files in HDFS that programs of other users read. Uses an event loop of its own. Paths look like
// "hdfs://nn:8020/x"; `path_of` returns their paths in the HDFS of `options`.
class HdfsFilesForOthers : public FilesForOthers {
 public:
  using PathOf = std::function<Result<std::string>(const std::string& path)>;
  HdfsFilesForOthers(hadoop::Hdfs::Options options, PathOf path_of)
      : path_of_(std::move(path_of)), hdfs_(hadoop::MakeHdfs(loop_, std::move(options))) {}

  Status MakeFolder(const std::string& path) const override;
  Status Write(const std::string& path, std::string_view content) const override;
  Status Remove(const std::string& path) const override;

 private:
  template <class T, class Start>
  Result<T> Ask(const std::string& path, Start start) const;

  const PathOf path_of_;
  mutable std::mutex mutex_;
  mutable EventLoop loop_;  // mutex_ guards loop_ and hdfs_.
  const std::unique_ptr<hadoop::Hdfs> hdfs_;
};

}  // namespace tony
