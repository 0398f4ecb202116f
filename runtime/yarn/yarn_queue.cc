#include "runtime/yarn/yarn_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/yarn/yarn_asks.h"
#include "runtime/yarn/yarn_check.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_ends.h"

namespace tony {
namespace {

using hadoop::ApplicationReport;
using hadoop::ApplicationState;

constexpr Duration kQueueLimit{2000};
// A cluster with more has its own pages for them.
constexpr size_t kMostQueues = 100;

int64_t GpusOf(const hadoop::Resource& resource) {
  const auto gpus = resource.others.find(kGpuType);
  return gpus == resource.others.end() ? 0 : gpus->second;
}

QueuedJob JobOf(const ApplicationReport& report) {
  const bool runs = report.state == ApplicationState::kRunning;
  return {.job = {hadoop::ToString(report.id)},
          .user = report.user,
          .queue = report.queue,
          .runs = runs,
          .priority = report.priority,
          .memory_mb = std::max<int64_t>(0, report.used.memory_mib),  // -1: this user may not know
          .vcores = std::max(0, report.used.vcores),
          .gpus = GpusOf(report.used),
          .since = report.started,
          .why = WhyMasterWaits(report)};
}

bool IsQueueNamed(const QueueShare& queue, const std::string& name) {
  return name == queue.name || queue.name.ends_with("." + name) || name.ends_with("." + queue.name);
}

// `above`: of the queue that it is in.
void AddQueue(const RmCalls& rm, const std::string& name, const QueueShare& above, const OpenQueues& open,
              QueueView& view) {
  const auto report = rm.Queue(name);
  if (!report.ok() || view.queues.size() >= kMostQueues) return;
  QueueShare queue{.name = name,
                   .takes_jobs = report->running && report->children.empty(),
                   .is_open = open.Has(name),
                   .guaranteed = above.guaranteed * report->capacity,
                   .most = above.most * report->maximum_capacity};
  queue.used = queue.guaranteed * report->used;
  for (const QueuedJob& job : view.jobs)
    if (IsQueueNamed(queue, job.queue)) ++(job.runs ? queue.running : queue.waiting);
  view.queues.push_back(queue);
  for (const std::string& child : report->children) AddQueue(rm, child, queue, open, view);
}

void AddNodes(const std::vector<hadoop::NodeReport>& nodes, QueueView& view) {
  view.nodes = static_cast<int>(nodes.size());
  for (const hadoop::NodeReport& node : nodes) {
    view.memory_mb += node.capability.memory_mib;
    view.free_memory_mb += std::max<int64_t>(0, node.capability.memory_mib - node.used.memory_mib);
    view.cores += node.capability.vcores;
    view.free_cores += std::max(0, node.capability.vcores - node.used.vcores);
  }
}

}  // namespace

std::vector<QueuedJob> QueuedJobs(const std::vector<ApplicationReport>& reports) {
  std::vector<QueuedJob> jobs;
  for (const ApplicationReport& report : reports) jobs.push_back(JobOf(report));
  std::ranges::sort(jobs, {}, [](const QueuedJob& job) {
    return std::tuple(!job.runs, job.queue, -job.priority, job.since, job.job.value);
  });
  return jobs;
}

Result<QueueView> LookAtYarnQueue(const YarnCluster& cluster) {
  const RmCalls rm(cluster.rm, cluster.user, kQueueLimit);
  QueueView view;
  view.place = ToString(cluster.rm);
  TRY_ASSIGN(const auto nodes, rm.RunningNodes());
  AddNodes(nodes, view);
  TRY_ASSIGN(const auto reports, rm.Applications());
  view.jobs = QueuedJobs(reports);
  TRY_ASSIGN(const OpenQueues open, QueuesOpenTo(cluster));
  AddQueue(rm, "root", {.guaranteed = 1, .most = 1}, open, view);
  return view;
}

}  // namespace tony
