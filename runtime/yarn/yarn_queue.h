// What `tony list --queue` shows of a cluster: its queues, and the applications of all users that run or wait there.
#pragma once

#include <vector>

#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Waits for the ResourceManager, two seconds a call. kUnavailable: it does not answer.
Result<QueueView> LookAtYarnQueue(const YarnCluster& cluster);

// Those that run come first, each group in the order in which it is served: by priority, then by age. Pure.
std::vector<QueuedJob> QueuedJobs(const std::vector<hadoop::ApplicationReport>& reports);

}  // namespace tony
