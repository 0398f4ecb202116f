// What `tony doctor --yarn` says: what of the cluster that is configured stands in the way of this user's jobs, and
// what mends it.
#pragma once

#include <vector>

#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Waits for the daemons, two seconds a call and ten for a write. A file with an extended attribute is really written
// into the user's home folder in HDFS, read, and removed; and an application id is taken, which the ResourceManager
// counts.
Checks CheckYarnHealth();

// What `tony list --queue` shows of a cluster: its queues, and the applications of all users that run or wait there.

// Waits for the ResourceManager, two seconds a call. kUnavailable: it does not answer.
Result<QueueView> LookAtYarnQueue(const YarnCluster& cluster);

// Those that run come first, each group in the order in which it is served: by priority, then by age. Pure.
std::vector<QueuedJob> QueuedJobs(const std::vector<hadoop::ApplicationReport>& reports);

}  // namespace tony
