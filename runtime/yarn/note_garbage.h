// Notes of clusters (yarn_configured.h) that outlive their jobs, which somebody else has removed, or another machine.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "runtime/backend/garbage.h"
#include "runtime/base/result.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

using JobsOfCluster = std::function<Result<std::set<std::string>>(const YarnCluster& cluster)>;

// Those that were written before `order.not_since` go where the cluster that they name has no such job any more. The
// others stay, and `garbage.kept` says why: the job is there, or nobody knows. `jobs_of` is asked once for each
// cluster.
Status CollectNotes(const GarbageOrder& order, const JobsOfCluster& jobs_of, Garbage& garbage);

// The names in the user's folder of jobs in HDFS, also of half ones, within two seconds; none: there is no such folder.
Result<std::set<std::string>> JobsInHdfs(const YarnCluster& cluster);

}  // namespace tony
