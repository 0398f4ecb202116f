#include "runtime/yarn/yarn_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/webhdfs_answer.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_asks.h"
#include "runtime/yarn/yarn_cluster.h"
#include "runtime/yarn/yarn_jobs.h"

namespace tony {
namespace {

constexpr Duration kLimit{2000};
constexpr size_t kMostQueuesTold = 20;

// Of a queue with others below it only those take applications, and only while they run.
void AddLeaves(const RmCalls& rm, const std::string& name, const OpenQueues& open, std::vector<std::string>& leaves) {
  const auto queue = rm.Queue(name);
  if (!queue.ok() || leaves.size() >= kMostQueuesTold) return;
  if (queue->children.empty() && queue->running && open.Has(name)) leaves.push_back(name);
  for (const std::string& child : queue->children) AddLeaves(rm, child, open, leaves);
}

// As the ResourceManager itself has it, else as the site files do.
bool HasQueueRules(const YarnCluster& cluster) {
  const auto told = hadoop::RmSetting(cluster.rm_web, "yarn.acl.enable", kLimit);
  return told ? *told == "true" : cluster.has_queue_rules;
}

// YARN itself would lower it without a word. Where it does not tell its highest one, it does so.
Status CheckPriority(const YarnCluster& cluster, int priority) {
  constexpr const char* kMost = "yarn.cluster.max-application-priority";
  if (priority == 0) return Ok();
  const auto told = hadoop::RmSetting(cluster.rm_web, kMost, kLimit);
  const auto most = told ? ParseInt(*told) : std::nullopt;
  if (!most || priority <= *most) return Ok();
  return Error{ErrorCode::kInvalid, StrCat("tony.yarn.priority: ", priority, " is above ", *most,
                                           ", the highest of this cluster (", kMost, ")")};
}

// By key: which label is asked for.
std::map<std::string, std::string> LabelsOf(const JobSpec& spec) {
  std::map<std::string, std::string> labels;
  const auto add = [&](const std::string& key, const std::string& label) {
    if (!label.empty()) labels[label == spec.yarn.node_label ? "tony.application.node-label" : key] = label;
  };
  add("tony.am.node-label", spec.yarn.am_node_label);
  for (const RoleSpec& role : spec.roles) add(role.Key("node-label"), role.node_label);
  return labels;
}

Status CheckLabels(const RmCalls& rm, const JobSpec& spec) {
  const auto asked = LabelsOf(spec);
  if (asked.empty()) return Ok();
  TRY_ASSIGN(const auto there, rm.NodeLabels());
  TRY_ASSIGN(const hadoop::QueueReport queue, rm.Queue(spec.yarn.queue));
  for (const auto& [key, label] : asked) {
    const std::string bad = StrCat(key, ": \"", label, "\" is no label ");
    if (std::ranges::count(there, label) == 0)
      return Error{ErrorCode::kInvalid, StrCat(bad, "of this cluster; there ",
                                               there.empty() ? "is none" : StrCat("are ", Join(there, ", ")))};
    if (!queue.labels.contains(label) && !queue.labels.contains("*")) {
      const std::vector<std::string> own(queue.labels.begin(), queue.labels.end());
      return Error{ErrorCode::kInvalid, StrCat(bad, "of queue ", spec.yarn.queue, ", which may use ",
                                               own.empty() ? "none" : Join(own, ", "))};
    }
  }
  return Ok();
}

// The folder is made here, so that a file system that cannot be written is known before anything is staged.
Status AskHdfs(const YarnCluster& cluster) {
  hadoop::WebHdfs::Options options = HdfsOptions(cluster);
  options.limits.connect = options.limits.stalled = options.limits.whole = kLimit;
  WebHdfsCalls hdfs(std::move(options));
  const auto home = hdfs.GetEntry(cluster.home);
  if (!home.ok() && home.error().code == ErrorCode::kNotFound) {
    return Error{ErrorCode::kInvalid, StrCat("user ", cluster.user, " has no home folder in HDFS: ", cluster.home,
                                             " is not there; an administrator makes it")};
  }
  TRY(home);
  return hdfs.MakeFolders(JobsFolder(cluster));
}

// What does not answer as a NameNode should is where the site files say that one is.
Status CheckHdfs(const YarnCluster& cluster) {
  const Status asked = AskHdfs(cluster);
  if (asked.ok() || asked.error().code != ErrorCode::kUnavailable) return asked;
  return Annotate(asked.error(), StrCat("dfs.namenode.http-address: ", cluster.webhdfs));
}

}  // namespace

bool OpenQueues::Has(const std::string& name) const {
  return !has_rules || std::ranges::any_of(allowed, [&](const std::string& path) {
    return path == name || path.ends_with("." + name);
  });
}

Result<OpenQueues> QueuesOpenTo(const YarnCluster& cluster) {
  TRY_ASSIGN(auto allowed, RmCalls(cluster.rm, cluster.user, kLimit).QueuesOfUser());
  return OpenQueues{HasQueueRules(cluster), std::move(allowed)};
}

Status CheckYarnQueue(const YarnCluster& cluster, const std::string& name) {
  const RmCalls rm(cluster.rm, cluster.user, kLimit);
  const auto queue = rm.Queue(name);
  if (!queue.ok() && queue.error().code != ErrorCode::kNotFound) return queue.error();
  const bool takes_jobs = queue.ok() && queue->running && queue->children.empty();
  OpenQueues open{.has_rules = true, .allowed = {}};
  TRY_ASSIGN(open.allowed, rm.QueuesOfUser());
  if (takes_jobs && open.Has(name)) return Ok();
  open.has_rules = HasQueueRules(cluster);  // where it does not matter nobody waits for it
  if (takes_jobs && open.Has(name)) return Ok();
  std::vector<std::string> leaves;
  AddLeaves(rm, "root", open, leaves);
  std::ranges::sort(leaves);
  const std::string why = takes_jobs        ? StrCat("is closed to user ", cluster.user)
                          : !queue.ok()     ? "is unknown to the cluster"
                          : !queue->running ? "is stopped"
                                            : "has others below it and takes no job itself";
  return Error{takes_jobs ? ErrorCode::kNotPermitted : ErrorCode::kInvalid,
               StrCat("tony.yarn.queue: \"", name, "\" ", why, "; there ",
                      leaves.empty() ? "is none for this user" : StrCat("are ", Join(leaves, ", ")))};
}

Result<std::vector<std::string>> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec) {
  const RmCalls rm(cluster.rm, cluster.user, kLimit);
  TRY_ASSIGN(const hadoop::NewApplication made, rm.MakeApplication());
  const ContainerLimits limits{made.maximum, {}};
  const Resources am{.memory_mb = spec.yarn.am_memory_mb, .vcores = spec.yarn.am_vcores};
  if (const auto why = WhyNeverGranted(am, limits)) return Error{ErrorCode::kInvalid, StrCat("tony.am: ", *why)};
  if (const auto why = WhyNeverGranted(spec, limits)) return Error{ErrorCode::kInvalid, *why};
  TRY(CheckYarnQueue(cluster, spec.yarn.queue));
  TRY(CheckPriority(cluster, spec.yarn.priority));
  TRY(CheckLabels(rm, spec));
  TRY(CheckHdfs(cluster));
  TRY(CheckCheckpointFolder(cluster, spec.checkpoint));
  std::vector<std::string> notes;
  if (auto why = WhyNoHistory(cluster, spec)) notes.push_back(*std::move(why));
  if (spec.AsksForGpus()) {
    TRY_ASSIGN(const auto nodes, rm.RunningNodes());
    if (auto why = WhyTooManyGpus(spec, nodes)) notes.push_back(*std::move(why));
  }
  return notes;
}

}  // namespace tony
