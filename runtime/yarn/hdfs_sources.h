// Files that a job names by hdfs:// and that stay where they are. The nodes fetch each file once per user. A node
// refuses a file that has changed since FindHdfsFiles() read its length and time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/staged_files.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Returns the file. If the source is a folder, returns all files directly in it under their own names, like the Java
// TonY. If `file.name` is empty, the content belongs into the task's folder itself. The result is then the archive, or
// all files in the folder and its subfolders, named by their paths below the folder. Blocks; any thread. Errors do not
// name the source. kInvalid: the source does not exist, leads to no HDFS (hdfs_location.h), or has the wrong type.
// kNotPermitted: this user may not read it. kUnavailable: HDFS does not answer.
Result<std::vector<RemoteFile>> FindHdfsFiles(const YarnCluster& cluster, const FileSpec& file);

// Returns the content of a file, which may have at most 16 MiB. Errors are those of FindHdfsFiles().
Result<std::string> ReadFromHdfs(const YarnCluster& cluster, const std::string& source);

// Writes a file of a launch context into the new file `to`. kInvalid: the file is not the one of the launch.
Status FetchFromHdfs(const YarnCluster& cluster, const hadoop::LocalResource& file, const std::filesystem::path& to);

// Returns the file as an entry of a node's launch context.
hadoop::LocalResource ResourceOf(const YarnCluster& cluster, const RemoteFile& file);

// Checkpoints of a job on YARN. They are in HDFS, or in a folder that all nodes share. Records in HDFS, which all jobs
// of the user on the cluster share, name the job that uses each checkpoint folder. Checkpoints in HDFS that another
// user wrote are never used.

// Returns a reader for the folder. kInvalid: the folder leads to no HDFS.
Result<std::shared_ptr<const CheckpointFolder>> CheckpointFolderOf(const YarnCluster& cluster,
                                                                   const std::string& directory);

// Copies a checkpoint, a file or a folder, from HDFS into the existing folder `to` of this machine.
Status FetchCheckpointFromHdfs(const YarnCluster& cluster, const std::string& checkpoint,
                               const std::filesystem::path& to);
// Makes the folder in HDFS, and copies the checkpoint of this machine into it; empty: makes the folder only. kInvalid:
// the checkpoint has a link to a folder, which HDFS cannot keep.
Status SendCheckpointToHdfs(const YarnCluster& cluster, const std::filesystem::path& checkpoint,
                            const std::string& folder);

// Returns the checkpoints for the AM. Another job counts as ended if its status or the ResourceManager shows that.
// kInvalid: the folder leads to no HDFS.
Result<CheckpointPlace> CheckpointsOnYarn(const YarnCluster& cluster, const CheckpointSpec& spec);

// Checks for a client whether an AM could list the checkpoint folder in HDFS. A missing folder is accepted, because it
// may be created later. kInvalid: the path is a file, or leads to no HDFS. kNotPermitted: the user may not read the
// folder.
Status CheckCheckpointFolder(const YarnCluster& cluster, const CheckpointSpec& spec);

// Removes the records of checkpoint folders whose jobs no longer exist.
Status SweepCheckpointFolders(const YarnCluster& cluster);

}  // namespace tony
