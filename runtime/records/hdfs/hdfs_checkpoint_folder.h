// A checkpoint directory in HDFS. What tells that an entry is the same is the id that the NameNode gave it, which a
// file that is written anew under the same name does not have.
#pragma once

#include <memory>
#include <string>

#include "runtime/records/checkpoint_folder.h"
#include "runtime/records/hdfs/hdfs_bytes.h"

namespace tony {

class HdfsCheckpointFolder : public CheckpointFolder {
 public:
  // `file_system`: "hdfs://nn.example.org:8020"; `user`: whose the job is.
  HdfsCheckpointFolder(std::shared_ptr<HdfsCalls> calls, std::string file_system, std::string path, std::string user,
                       HdfsPatience patience = {})
      : hdfs_(std::move(calls), std::move(patience)),
        file_system_(std::move(file_system)),
        path_(std::move(path)),
        user_(std::move(user)) {}

  Result<std::string> Resolve() const override { return file_system_ + path_; }  // there are no links
  Result<std::unique_ptr<CheckpointSight>> Look() const override;

 private:
  Result<hadoop::HdfsEntry> Entry() const;

  const HdfsBytes hdfs_;
  const std::string file_system_, path_, user_;
};

}  // namespace tony
