// Whether a cluster can run a job at all, asked before anything is sent there.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/scheduler/yarn/yarn_cluster.h"

namespace tony {

// Takes an application id, which the ResourceManager counts, and makes the folder of the user's jobs. kInvalid: this
// cluster will never run it, with both numbers or the queues that there are; kUnavailable: YARN or HDFS does not answer
// as it should, within two seconds. What a person should know beside that, in lines.
Result<std::vector<std::string>> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec);

}  // namespace tony
