// Whether a cluster can run a job at all, asked before anything is sent there.
#pragma once

#include <string>
#include <vector>

#include "runtime/backend/health.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// Which queues take jobs of this user, where they run and have none below them.
struct OpenQueues {
  bool has_rules = false;  // else all do
  // "root.ml": those whose own rules, or those of one above, let the user, as the ResourceManager lists them whether it
  // goes by its rules or not.
  std::vector<std::string> allowed;
  bool Has(const std::string& name) const;  // "root.ml" or "ml"
};
Result<OpenQueues> QueuesOpenTo(const YarnCluster& cluster);

// Whether the queue takes jobs of this user; else the names of those that do. kInvalid: it is unknown, stopped, or has
// others below it; kNotPermitted: its rules do not let the user. Where neither the ResourceManager nor the site files
// say that it goes by its rules, it has the last word at the submit.
Status CheckYarnQueue(const YarnCluster& cluster, const std::string& name);

// Takes an application id, which the ResourceManager counts, and makes the folder of the user's jobs. kInvalid: this
// cluster will never run it, with both numbers or the queues that there are; kNotPermitted: the queue or the file
// system is closed to the user; kUnavailable: YARN or HDFS does not answer as it should, within two seconds. What a
// person should know beside that, in lines.
Result<std::vector<std::string>> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec);

// `tony doctor --yarn`: names what keeps this user's jobs from the configured cluster, and how to mend it.

// Waits for the daemons, two seconds a call and ten for a write. A file with an extended attribute is really written
// into the user's home folder in HDFS, read, and removed; and an application id is taken, which the ResourceManager
// counts.
Checks CheckYarnHealth();

// `tony list --queue`: the queues of a cluster, and the applications of all users that run or wait there.

// Waits for the ResourceManager, two seconds a call. kUnavailable: it does not answer.
Result<QueueView> LookAtYarnQueue(const YarnCluster& cluster);

// Applications that run come first, each group in the order in which it is served: by priority, then by age. Pure.
std::vector<QueuedJob> QueuedJobs(const std::vector<hadoop::ApplicationReport>& reports);

}  // namespace tony
