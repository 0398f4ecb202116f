// Checkpoints of a job on YARN: in HDFS, or in a folder that all nodes have. Which job has the folder is a record in
// HDFS, known to all jobs of the user on the cluster. What another user has written in HDFS is never taken for the
// job's own.
#pragma once

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/records/checkpoint_place.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// For the master. Another job has ended when its status or the ResourceManager says so.
CheckpointPlace CheckpointsOnYarn(const YarnCluster& cluster, const CheckpointSpec& spec);

// For a client: whether a master could list the folder in HDFS. One that is not there may come. kInvalid: it is a file,
// or in another HDFS; kNotPermitted: the user may not read it.
Status CheckCheckpointFolder(const YarnCluster& cluster, const CheckpointSpec& spec);

// Forgets the folders whose jobs are gone.
Status SweepCheckpointFolders(const YarnCluster& cluster);

}  // namespace tony
