// Checks whether a cluster can run a job, before anything is sent to the cluster.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend/backend_values.h"
#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Checks a job against the cluster. Returns notes for the user, and the application id that the ResourceManager has
// reserved for the job. Creates the folder of the user's jobs. kInvalid: this cluster will never run the job; the
// message has the requested and the maximum amount, or the available queues. kNotPermitted: the queue or the file
// system is closed to the user. kUnavailable: YARN or HDFS does not answer properly within two seconds.
Result<CheckedJob> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec, CheckFor purpose);

// `tony doctor --yarn`: finds what prevents this user's jobs from running on the configured cluster, and how to repair
// it.

// Runs all checks. Waits for the daemons, two seconds per call and ten seconds per write. Writes a file with an
// extended attribute into the user's home folder in HDFS, reads it, and removes it. Also reserves an application id,
// which the ResourceManager counts.
Checks CheckYarnHealth();

// `tony list --queue`: the queues of a cluster, and the applications of all users that run or wait there.

// Returns the queues and applications. Waits for the ResourceManager, two seconds per call. kUnavailable: the
// ResourceManager does not answer.
Result<QueueView> ReadYarnQueue(const YarnCluster& cluster);

// Returns the applications as jobs: the running ones first, then the waiting ones. Each group is sorted by queue, and
// within a queue by priority and then by age, the order in which a queue is served. Pure.
std::vector<QueuedJob> QueuedJobs(const std::vector<hadoop::ApplicationReport>& reports);

}  // namespace tony
