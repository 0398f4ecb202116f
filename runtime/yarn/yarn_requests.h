// What is known under request ids of a user's jobs on a cluster: <home>/.tony/requests (records/record_request_index.h).
// So a submit from any machine finds what those from others made.
#pragma once

#include <memory>

#include "runtime/records/hdfs/hdfs_bytes.h"
#include "runtime/records/record_request_index.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

RequestPlace RequestsIn(const YarnCluster& cluster);
// The same for a test's own calls.
RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsPatience& patience = {});

}  // namespace tony
