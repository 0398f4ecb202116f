#include "runtime/scheduler/yarn/yarn_check.h"

#include <algorithm>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/scheduler/yarn/never_granted.h"
#include "runtime/scheduler/yarn/rm_calls.h"
#include "runtime/scheduler/yarn/yarn_job_place.h"
#include "runtime/store/hdfs/hdfs_calls.h"

namespace tony {
namespace {

constexpr Duration kLimit{2000};
constexpr size_t kMostQueuesTold = 20;

// Of a queue with others below it only those take applications, and only while they run.
void AddLeaves(const RmCalls& rm, const std::string& name, std::vector<std::string>& leaves) {
  const auto queue = rm.Queue(name);
  if (!queue.ok() || leaves.size() >= kMostQueuesTold) return;
  if (queue->children.empty() && queue->running) leaves.push_back(name);
  for (const std::string& child : queue->children) AddLeaves(rm, child, leaves);
}

Status CheckQueue(const RmCalls& rm, const std::string& name) {
  const auto queue = rm.Queue(name);
  if (queue.ok() && queue->running && queue->children.empty()) return Ok();
  if (!queue.ok() && queue.error().code != ErrorCode::kNotFound) return queue.error();
  std::vector<std::string> leaves;
  AddLeaves(rm, "root", leaves);
  const std::string why = !queue.ok()       ? "unknown to the cluster"
                          : !queue->running ? "stopped"
                                            : "has others below it and takes no job itself";
  return Error{ErrorCode::kInvalid,
               StrCat("tony.yarn.queue: \"", name, "\" is ", why, "; there are ", Join(leaves, ", "))};
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

Result<std::vector<std::string>> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec) {
  const RmCalls rm(cluster.rm, cluster.user, kLimit);
  TRY_ASSIGN(const hadoop::NewApplication made, rm.MakeApplication());
  const ContainerLimits limits{made.maximum, {}};
  const Resources am{.memory_mb = spec.yarn.am_memory_mb, .vcores = spec.yarn.am_vcores};
  if (const auto why = WhyNeverGranted(am, limits)) return Error{ErrorCode::kInvalid, StrCat("tony.am: ", *why)};
  if (const auto why = WhyNeverGranted(spec, limits)) return Error{ErrorCode::kInvalid, *why};
  TRY(CheckQueue(rm, spec.yarn.queue));
  TRY(CheckHdfs(cluster));
  return std::vector<std::string>();
}

}  // namespace tony
