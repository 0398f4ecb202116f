// What is known under request ids of a user's jobs on a cluster: <home>/.tony/requests (store/record_request_index.h).
// So a submit from any machine finds what those from others made.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/scheduler/yarn/yarn_cluster.h"
#include "runtime/store/hdfs/hdfs_bytes.h"
#include "runtime/store/local_request_index.h"
#include "runtime/store/record_request_index.h"

namespace tony {

RequestPlace RequestsIn(const YarnCluster& cluster, std::shared_ptr<const RequestIndex> older);
// The same for a test's own calls.
RequestPlace RequestsBy(const std::shared_ptr<HdfsCalls>& calls, const YarnCluster& cluster,
                        const HdfsPatience& patience = {});

// Of submits with a release that knew request ids on one machine alone, whose $TONY_HOME this is.
std::shared_ptr<const LocalRequestIndex> OlderRequestsOf(const YarnCluster& cluster,
                                                         const std::filesystem::path& tony_home);

}  // namespace tony
