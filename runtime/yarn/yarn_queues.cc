#include "runtime/yarn/yarn_queues.h"

#include <algorithm>
#include <thread>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/rpc_connection.h"

namespace tony {
namespace {

using hadoop::ApplicationState;
using hadoop::QueueReport;

constexpr Duration kQueueCallLimit{2000};
constexpr Duration kBetweenReports{20};
constexpr size_t kMostQueuesTold = 20;

void AddAll(const QueueReport& queue, std::vector<const QueueReport*>& all) {
  all.push_back(&queue);
  for (const QueueReport& child : queue.children) AddAll(child, all);
}

// Returns the queues that accept jobs of the user, e.g. "use one of root.default, root.ml".
std::string OpenQueuesText(const ClusterQueues& queues) {
  std::vector<std::string> open;
  for (const QueueReport* queue : queues.All())
    if (queues.TakesJobs(*queue) && queues.IsOpen(*queue)) open.push_back(queue->path);
  if (open.empty()) return queues.root.is_fair ? "no queue exists yet" : "no queue is open to this user";
  std::ranges::sort(open);
  const size_t more = open.size() - std::min(open.size(), kMostQueuesTold);
  open.resize(open.size() - more);
  return StrCat("use one of ", Join(open, ", "), more > 0 ? StrCat(" and ", more, " more") : "");
}

Error QueueError(const ClusterQueues& queues, const std::string& queue, ErrorCode code, const std::string& why) {
  return {code, StrCat("tony.yarn.queue: \"", queue, "\": ", why, "; ", OpenQueuesText(queues))};
}

// Returns whether a queue that does not exist may be created when a job names it. If a site has no queue "default", its
// own rules place a job that names no queue.
bool MayComeIntoBeing(const ClusterQueues& queues, const std::string& name) {
  if (queues.root.is_fair || name == YarnSpec().queue) return true;
  const auto all = queues.All();
  for (size_t end = name.rfind('.'); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    const std::string above = name.substr(0, end);
    if (std::ranges::any_of(all, [&](const QueueReport* queue) { return queue->path == above; }))
      return queues.makers.contains(above);
  }
  return false;
}

std::string Hint(const QueueReport* queue, const std::string& user) {
  if (!queue) return "the cluster has no such queue now, or has several queues of this name";
  if (!queue->running) return "the queue is stopped";
  if (!queue->children.empty()) return "the queue is a parent queue, and only the queues below it accept jobs";
  return StrCat("the queue is closed to user ", user);
}

// Submits an application without an AM, and ends it if the ResourceManager has accepted it.
Status AskResourceManager(const RmCalls& rm, const hadoop::Submission& question) {
  TRY(rm.Submit(question));
  const Status accepted = AwaitAcceptance(rm, question.id, kQueueCallLimit);
  if (accepted.ok())
    TRY(rm.Kill(question.id, "tony submitted this application only to check whether the queue accepts a job"));
  return accepted;
}

}  // namespace

const QueueReport* ClusterQueues::Find(const std::string& name) const {
  const auto all = All();
  for (const std::string& path : {name, root.is_fair ? StrCat("root.", name) : name})
    if (const auto found = std::ranges::find(all, path, &QueueReport::path); found != all.end()) return *found;
  const auto has_name = [&](const QueueReport* queue) { return queue->path.ends_with("." + name); };
  const bool may_be_short = !root.is_fair && name.find('.') == std::string::npos;
  if (!may_be_short || std::ranges::count_if(all, has_name) != 1) return nullptr;
  return *std::ranges::find_if(all, has_name);
}

std::vector<const QueueReport*> ClusterQueues::All() const {
  std::vector<const QueueReport*> all;
  AddAll(root, all);
  return all;
}

// ResourceManagers before 3.3 list the last parts of the paths.
bool ClusterQueues::IsOpen(const QueueReport& queue) const {
  return !has_rules || std::ranges::any_of(allowed, [&](const std::string& path) {
    return path == queue.path || (path.find('.') == std::string::npos && queue.path.ends_with("." + path));
  });
}

Result<ClusterQueues> ReadQueues(const RmCalls& rm) {
  TRY_ASSIGN(QueueReport root, rm.Queue("root"));
  TRY_ASSIGN(auto allowed, rm.QueuesOfUser());
  return ClusterQueues{.root = std::move(root), .allowed = std::move(allowed)};
}

void ReadQueueRules(const YarnCluster& cluster, ClusterQueues& queues) {
  const auto told = hadoop::RmSetting(cluster.rm_web, cluster.trust, "yarn.acl.enable", kQueueCallLimit);
  queues.has_rules = told ? *told == "true" : cluster.enforces_queue_acls;
  queues.makers = hadoop::QueuesThatMakeQueues(cluster.rm_web, cluster.trust, kQueueCallLimit);
}

Result<QueueCheck> CheckYarnQueue(const YarnCluster& cluster, const JobSpec& spec, const hadoop::ApplicationId& id,
                                  CheckFor purpose) {
  const std::string& name = spec.yarn.queue;
  const RmCalls rm(cluster, kQueueCallLimit);
  TRY_ASSIGN(ClusterQueues queues, ReadQueues(rm));
  const QueueReport* const queue = queues.Find(name);
  const QueueCheck unasked{.queue = queue ? std::optional(*queue) : std::nullopt};
  const auto is_open = [&] { return queue && queues.TakesJobs(*queue) && queues.IsOpen(*queue); };
  if (is_open()) return unasked;
  // The rules are queried late, because they matter only if the queue is not known to be open.
  ReadQueueRules(cluster, queues);
  if (is_open() || (!queue && MayComeIntoBeing(queues, name))) return unasked;
  if (purpose == CheckFor::kPlan)
    return QueueError(queues, name, ErrorCode::kInvalid,
                      StrCat(Hint(queue, cluster.user), "; the ResourceManager decides at the submit"));
  const Status accepted = AskResourceManager(
      rm, {.id = id, .name = spec.name, .queue = name, .type = spec.yarn.type, .is_unmanaged = true});
  if (accepted.ok()) return QueueCheck{.queue = unasked.queue, .id_was_used = true};
  if (accepted.error().code == ErrorCode::kUnavailable) return accepted.error();
  return QueueError(queues, name, accepted.error().code, accepted.error().message);
}

Status AwaitAcceptance(const RmCalls& rm, const hadoop::ApplicationId& id, Duration limit) {
  for (const Duration end = SinceBoot() + limit; SinceBoot() < end; std::this_thread::sleep_for(kBetweenReports)) {
    const auto report = rm.Report(id);
    if (!report.ok()) return Ok();
    if (report->state < ApplicationState::kAccepted) continue;
    // An application that was refused never had an attempt.
    if (report->state != ApplicationState::kFailed || report->attempt > 0) return Ok();
    const std::string reason = hadoop::OneLine(report->diagnostics);
    const bool is_closed = reason.find("does not have permission to submit") != std::string::npos;
    return Error{is_closed ? ErrorCode::kNotPermitted : ErrorCode::kInvalid, reason};
  }
  return Ok();
}

Error RefusedSubmit(const YarnCluster& cluster, const std::string& queue, const Error& reason) {
  if (reason.code == ErrorCode::kUnavailable || ToLower(reason.message).find("queue") == std::string::npos)
    return reason;
  auto queues = ReadQueues(RmCalls(cluster, kQueueCallLimit));
  if (!queues.ok()) return reason;
  ReadQueueRules(cluster, *queues);
  return QueueError(*queues, queue, reason.code, reason.message);
}

}  // namespace tony
