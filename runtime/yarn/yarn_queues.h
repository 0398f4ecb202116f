// The queues of a cluster, and whether a job may go to one of them. The ResourceManager decides this at the submit, by
// its ACLs and by rules that clients cannot read: YARN may create a queue for its first job, or may put the job into
// another queue. The queues that the ResourceManager lists are a hint, which is enough for a queue that is known and
// open.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/backend/backend_values.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

struct ClusterQueues {
  hadoop::QueueReport root;
  // Paths of the queues whose own ACL, or the ACL of a queue above, admits the user. The ResourceManager lists them
  // whether it enforces ACLs or not.
  std::vector<std::string> allowed;
  // False: all queues admit the user, because the cluster does not enforce queue ACLs.
  bool has_rules = true;
  // Paths of the queues that create child queues when a job names them.
  std::set<std::string> makers;

  // Returns the queue that a job means by `name`: a path, or the last part of a path if only one queue has it. Null:
  // the name is unknown or ambiguous.
  const hadoop::QueueReport* Find(const std::string& name) const;
  // Returns all queues, each before the queues below it.
  std::vector<const hadoop::QueueReport*> All() const;
  bool IsOpen(const hadoop::QueueReport& queue) const;
  // Returns whether the queue accepts jobs: it runs, has no child queues and does not create any. "root" never accepts
  // jobs, even if it has no queues yet.
  bool TakesJobs(const hadoop::QueueReport& queue) const {
    return queue.running && queue.children.empty() && queue.path != "root" && !makers.contains(queue.path);
  }
};
// Waits for the ResourceManager. Leaves `has_rules` and `makers` unchanged.
Result<ClusterQueues> ReadQueues(const RmCalls& rm);
// Sets `has_rules` and `makers`, which the ResourceManager reports only on its web server. If it does not report
// whether it enforces queue ACLs, the setting of the site files counts.
void ReadQueueRules(const YarnCluster& cluster, ClusterQueues& queues);

struct QueueCheck {
  // nullopt: YARN may create the queue for the job.
  std::optional<hadoop::QueueReport> queue;
  bool id_was_used = false;
};
// Checks whether the ResourceManager accepts the job in its queue. If the queue is not known to be open, this function
// submits an application without an AM as a question: the application uses the reserved `id`, and is ended at once. A
// plan submits nothing, and returns the hint as the error. kInvalid, kNotPermitted: the ResourceManager's reason and
// the open queues.
Result<QueueCheck> CheckYarnQueue(const YarnCluster& cluster, const JobSpec& spec, const hadoop::ApplicationId& id,
                                  CheckFor purpose);

// Waits until the ResourceManager has accepted or refused a submitted application, at most `limit`. Returns its reason
// as an error if it has refused the application; Ok if it has not, or has not decided yet.
Status AwaitAcceptance(const RmCalls& rm, const hadoop::ApplicationId& id, Duration limit);
// Returns the error for users about an application that the ResourceManager refused. If the reason is about queues, the
// error names the key and the open queues.
Error RefusedSubmit(const YarnCluster& cluster, const std::string& queue, const Error& reason);

}  // namespace tony
