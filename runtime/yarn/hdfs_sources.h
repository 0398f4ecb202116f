// Files that a job names by hdfs://, and that stay where they are: the nodes fetch them, each once for a user, and
// refuse one that is not as it was when it was looked at.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_records.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoints.h"
#include "runtime/records/staged_files.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// The file, or, as TonY did, all files that are directly in the folder, under their own names. Of a source whose
// content is to be in the task's folder itself: the archive, or all files in the folder and those below it, by their
// paths there. Blocks; any thread. Errors do not name the source. kInvalid: there is none, it is not in the cluster's
// own HDFS, or it cannot be what was asked for; kNotPermitted: this user may not read it; kUnavailable: HDFS does not
// answer.
Result<std::vector<RemoteFile>> LookAtHdfs(const YarnCluster& cluster, const FileSpec& file);

// The path of such a place. kInvalid: it is not in the cluster's own HDFS.
Result<std::string> PathInHdfs(const YarnCluster& cluster, const std::string& source);
std::string OwnHdfs(const YarnCluster& cluster);  // "hdfs://nn:8020"

// The content of a file, of 16 MiB at most. Errors as those.
Result<std::string> ReadFromHdfs(const YarnCluster& cluster, const std::string& source);

// What a node is told of it.
hadoop::LocalResource ResourceOf(const YarnCluster& cluster, const RemoteFile& file);

// Checkpoints of a job on YARN: in HDFS, or in a folder that all nodes have. Which job has the folder is a record in
// HDFS, known to all jobs of the user on the cluster. What another user has written in HDFS is never taken for the
// job's own.

// For the master. Another job has ended when its status or the ResourceManager says so.
CheckpointPlace CheckpointsOnYarn(const YarnCluster& cluster, const CheckpointSpec& spec);

// For a client: whether a master could list the folder in HDFS. One that is not there may come. kInvalid: it is a file,
// or in another HDFS; kNotPermitted: the user may not read it.
Status CheckCheckpointFolder(const YarnCluster& cluster, const CheckpointSpec& spec);

// Forgets the folders whose jobs are gone.
Status SweepCheckpointFolders(const YarnCluster& cluster);

}  // namespace tony
