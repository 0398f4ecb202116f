#include "runtime/yarn/yarn_check.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/base/strings.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/hadoop/default_fs.h"
#include "runtime/hadoop/webhdfs.h"
#include "runtime/os/files.h"
#include "runtime/os/start_program.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/yarn/cluster_login.h"
#include "runtime/yarn/hdfs_location.h"
#include "runtime/yarn/hdfs_sources.h"
#include "runtime/yarn/yarn_configured.h"
#include "runtime/yarn/yarn_ends.h"
#include "runtime/yarn/yarn_jobs.h"
#include "runtime/yarn/yarn_queues.h"
#include "runtime/yarn/yarn_requests.h"

namespace tony {
namespace {

constexpr Duration kLimit{2000};

// Checks the priority, because YARN would lower it silently. The check is skipped if the ResourceManager does not
// report its highest priority.
Status CheckPriority(const YarnCluster& cluster, int priority) {
  constexpr const char* kMost = "yarn.cluster.max-application-priority";
  if (priority == 0) return Ok();
  const auto told = hadoop::RmSetting(cluster.rm_web, cluster.trust, kMost, kLimit);
  const auto most = told ? ParseInt(*told) : std::nullopt;
  if (!most || priority <= *most) return Ok();
  return InvalidError("tony.yarn.priority: ", priority, " is above ", *most, ", the highest priority of this cluster (",
                      kMost, ")");
}

// Refuses placement constraints and allocation tags on a cluster whose ResourceManager would refuse each request with
// them. The check is skipped if the ResourceManager does not report its setting.
Status CheckPlacement(const YarnCluster& cluster, const JobSpec& spec) {
  constexpr const char* kHandler = "yarn.resourcemanager.placement-constraints.handler";
  std::string key = spec.yarn.placement_spec.empty() ? "" : kJobPlacementKey;
  for (const RoleSpec& role : spec.roles) {
    if (!role.allocation_tags.empty()) key = role.Key("allocation-tags");
    if (!role.placement_spec.empty()) key = role.Key("placement-spec");
  }
  if (key.empty()) return Ok();
  const auto handler = hadoop::RmSetting(cluster.rm_web, cluster.trust, kHandler, kLimit);
  if (!handler || *handler != "disabled") return Ok();
  return InvalidError(key, ": this cluster places no containers by constraints or tags (", kHandler,
                      "=disabled): ask its administrator for \"scheduler\" there, or remove the key; "
                      "tony.<role>.node-label and tony.<role>.placement choose nodes, too");
}

// Returns the node labels that a job requests. The key of each is the configuration key that requests the label.
std::map<std::string, std::string> LabelsOf(const JobSpec& spec) {
  std::map<std::string, std::string> labels;
  const auto add = [&](const std::string& key, const std::string& label) {
    if (!label.empty()) labels[label == spec.yarn.node_label ? "tony.application.node-label" : key] = label;
  };
  add("tony.am.node-label", spec.yarn.am_node_label);
  for (const RoleSpec& role : spec.roles) add(role.Key("node-label"), role.node_label);
  return labels;
}

// `queue` is nullopt if its labels are not known.
Status CheckLabels(const RmCalls& rm, const JobSpec& spec, const std::optional<hadoop::QueueReport>& queue) {
  const auto asked = LabelsOf(spec);
  if (asked.empty()) return Ok();
  TRY_ASSIGN(const auto there, rm.NodeLabels());
  for (const auto& [key, label] : asked) {
    const std::string bad = StrCat(key, ": \"", label, "\" is not a label ");
    if (std::ranges::count(there, label) == 0)
      return InvalidError(bad, "of this cluster; it has ",
                          there.empty() ? "none" : StrCat("the labels ", Join(there, ", ")));
    if (queue && !queue->labels.contains(label) && !queue->labels.contains("*")) {
      const std::vector<std::string> own(queue->labels.begin(), queue->labels.end());
      return InvalidError(bad, "of queue ", queue->path, ", which may use ", own.empty() ? "none" : Join(own, ", "));
    }
  }
  return Ok();
}

// Creates the folder of the user's jobs, so that an unwritable file system is found before anything is staged.
Status AskHdfs(const YarnCluster& cluster) {
  hadoop::Hdfs::Options options = HdfsOptions(cluster);
  options.limits.connect = options.limits.stalled = options.limits.whole = kLimit;
  BlockingHdfs hdfs(std::move(options));
  const auto home = hdfs.GetEntry(cluster.home);
  if (!home.ok() && home.error().code == ErrorCode::kNotFound) {
    return InvalidError("user ", cluster.user, " has no home folder in HDFS: ", cluster.home,
                        " does not exist; ask an administrator to create it");
  }
  TRY(home);
  return hdfs.MakeFolders(JobsFolder(cluster));
}

std::string AddressKeyOf(const YarnCluster& cluster) {
  if (!cluster.gateway.empty()) return hadoop::kDefaultFsKey;
  if (!UsesWebHdfs(cluster)) return cluster.name_node.port < 0 ? "dfs.namenode.rpc-address" : "fs.defaultFS";
  return HasHttps(cluster) ? hadoop::kHttpsAddressKey : "dfs.namenode.http-address";
}

// Returns whether the error is about the NameNode's certificate or its protocol.
bool IsOfCertificate(const Error& error) { return error.message.starts_with(hadoop::kHttpsAddressKey); }

}  // namespace

Result<CheckedJob> CheckYarnCluster(const YarnCluster& cluster, const JobSpec& spec, CheckFor purpose) {
  const RmCalls rm(cluster, kLimit);
  TRY_ASSIGN(const hadoop::NewApplication made, rm.ReserveApplicationId());
  const ContainerLimits limits{made.maximum, {}};
  const Resources am{.memory_mb = spec.yarn.am_memory_mb, .vcores = spec.yarn.am_vcores};
  if (const auto why = WhyNeverGranted(am, limits)) return InvalidError("tony.am: ", *why);
  if (const auto why = WhyNeverGranted(spec, limits)) return InvalidError(*why);
  TRY_ASSIGN(const QueueCheck queue, CheckYarnQueue(cluster, spec, made.id, purpose));
  TRY(CheckKeytab(cluster, spec.yarn.keytab));
  // An HDFS that gives no token is found before anything is uploaded.
  TRY_ASSIGN(const auto other_hdfs, OtherHdfsOf(cluster, spec));
  if (!other_hdfs.empty()) TRY(TokensForJob(cluster, spec).status());
  TRY(CheckPriority(cluster, spec.yarn.priority));
  TRY(CheckLabels(rm, spec, queue.queue));
  TRY(CheckPlacement(cluster, spec));
  // The address in the site files may not be that of a NameNode. An error kUnavailable therefore names the key of the
  // address.
  const Status hdfs = AskHdfs(cluster);
  if (!hdfs.ok() && hdfs.error().code == ErrorCode::kUnavailable)
    return Annotate(hdfs.error(), StrCat(AddressKeyOf(cluster), ": ", HdfsPlacesOf(cluster)));
  TRY(hdfs);
  TRY(CheckCheckpointFolder(cluster, spec.checkpoint));
  CheckedJob checked;
  if (!queue.id_was_used) checked.id = {hadoop::ToString(made.id)};
  if (auto why = WhyNoHistory(cluster, spec)) checked.notes.push_back(*std::move(why));
  if (RequestsOtherResources(spec)) {
    TRY_ASSIGN(const auto nodes, rm.RunningNodes());
    if (auto why = WhyTooMuch(spec, nodes)) checked.notes.push_back(*std::move(why));
  }
  return checked;
}

namespace {

constexpr Duration kAnswerLimit{2000};
constexpr Duration kWriteLimit{10'000};
constexpr std::array<std::string_view, 3> kTriedVersions = {"3.3.", "3.4.", "3.5."};

Check OkCheck(std::string name, std::string text) { return {std::move(name), Health::kOk, std::move(text), ""}; }
Check WarnCheck(std::string name, std::string text, std::string advice) {
  return {std::move(name), Health::kWarn, std::move(text), std::move(advice)};
}
Check FailCheck(std::string name, std::string text, std::string advice) {
  return {std::move(name), Health::kFail, std::move(text), std::move(advice)};
}

Check CheckConfiguration(const Result<YarnCluster>& cluster) {
  constexpr const char* kName = "configuration";
  std::vector<std::string> variables;
  for (const char* name : {kConfigurationVariable, kYarnConfigurationVariable})
    if (const char* folder = std::getenv(name); folder && *folder) variables.push_back(StrCat(name, "=", folder));
  const std::string from = variables.empty() ? "the last job that named its own site files" : Join(variables, " and ");
  if (!cluster.ok() && IsOfCertificate(cluster.error())) return FailCheck("namenode", cluster.error().message, "");
  // Only a login fails with these codes.
  if (!cluster.ok() &&
      (cluster.error().code == ErrorCode::kNotPermitted || cluster.error().code == ErrorCode::kUnavailable))
    return FailCheck("kerberos", cluster.error().message, "");
  if (!cluster.ok())
    return FailCheck(kName, cluster.error().message,
                     StrCat("set ", kConfigurationVariable,
                            " to the folder with the cluster's core-site.xml, hdfs-site.xml and yarn-site.xml"));
  return OkCheck(kName, StrCat("taken from ", from, "; TonY calls the cluster as user ", cluster->user));
}

Check CheckLogin() {
  constexpr const char* kName = "kerberos";
  const auto login = DescribeLogin();
  if (!login.ok()) return FailCheck(kName, login.error().message, "");
  return OkCheck(kName, StrCat("TonY proves the user's identity by ", *login));
}

const char* WayTo(const YarnCluster& cluster) {
  if (!cluster.gateway.empty()) return "HDFS by RPC and a gateway";
  return UsesWebHdfs(cluster) ? "WebHDFS" : "HDFS by RPC";
}

// Warns that the network carries secrets unencrypted. The setting of RPC is the ResourceManager's own, or that of the
// site files if the ResourceManager does not answer. It does not apply to a client without Kerberos, because only a
// process with a token or a ticket can protect its calls.
Check CheckNetwork(const YarnCluster& cluster) {
  constexpr const char* kName = "network";
  constexpr const char* kKey = "hadoop.rpc.protection";
  constexpr const char* kBlocksKey = "dfs.data.transfer.protection is not privacy";
  const std::string rpc =
      hadoop::RmSetting(cluster.rm_web, cluster.trust, kKey, kLimit).value_or(cluster.rpc_protection);
  const bool has_kerberos = !cluster.rm_principal.empty();
  std::vector<std::string> clear;
  const char* for_whom = has_kerberos || rpc == "authentication" ? "" : " for application masters only";
  if (!has_kerberos || rpc != "privacy") clear.push_back(StrCat(kKey, " is ", rpc, for_whom));
  const std::string hdfs = StrCat(WayTo(cluster), " is ", HdfsPlacesOf(cluster));
  if (UsesWebHdfs(cluster) && !HasHttps(cluster)) clear.push_back(hdfs);
  if (cluster.gateway.starts_with("http:")) clear.push_back(hdfs);
  if (!UsesWebHdfs(cluster) && cluster.gateway.empty() && !cluster.encrypts_blocks) clear.push_back(kBlocksKey);
  if (clear.empty()) return OkCheck(kName, StrCat("secrets of jobs are encrypted: ", kKey, " is ", rpc, ", ", hdfs));
  return WarnCheck(kName,
                   StrCat("tokens, TLS keys and secrets of jobs cross the network in clear text: ", Join(clear, ", ")),
                   "let only the cluster's own machines and users reach the cluster's network");
}

Check CheckShipped() {
  for (const std::string_view name : {"tony-yarn-am.tar.gz", "tony-executor"})
    if (const std::string file = SiblingProgram(name); access(file.c_str(), R_OK) != 0)
      return FailCheck("programs", StrCat(file, ": ", ErrnoText(errno)),
                       "install this file in the folder of the program tony; a release build creates it there");
  return OkCheck("programs", "tony-yarn-am.tar.gz and tony-executor are ready for the nodes");
}

Check CheckVersion(std::string name, const std::optional<std::string>& version) {
  if (!version) return WarnCheck(std::move(name), "the version is not known", "");
  const bool is_tried = std::ranges::any_of(kTriedVersions, [&](auto tried) { return version->starts_with(tried); });
  const std::string text = StrCat("Hadoop ", *version);
  if (is_tried) return OkCheck(std::move(name), text);
  return WarnCheck(std::move(name), StrCat(text, ", which has not been tested with TonY"),
                   "3.3, 3.4 and 3.5 are known to work");
}

Check CheckContainers(const RmCalls& rm) {
  constexpr const char* kName = "containers";
  const auto made = rm.ReserveApplicationId();
  if (!made.ok()) return FailCheck(kName, made.error().message, "");
  const hadoop::Resource& most = made->maximum;
  const std::string text =
      StrCat("a container may have ", most.memory_mib, " MB and ", Counted(most.vcores, "vcore"), " at most");
  if (most.memory_mib >= Resources().memory_mb) return OkCheck(kName, text);
  return WarnCheck(kName, StrCat(text, ", less than a task's default request"),
                   StrCat("set tony.<role>.memory to at most ", most.memory_mib,
                          "m, or raise yarn.scheduler.maximum-allocation-mb"));
}

Check CheckNodes(const hadoop::ClusterMetrics& metrics, const QueueView& view) {
  constexpr const char* kName = "nodes";
  if (view.nodes == 0)
    return FailCheck(kName, "no node is running", "start NodeManagers; \"yarn node -list -all\" shows all nodes");
  const std::string text = StrCat(Counted(view.nodes, "node"), ", with ", view.free_memory_mb, " of ", view.memory_mb,
                                  " MB and ", view.free_cores, " of ", view.cores, " vcores free");
  const int ill = metrics.lost + metrics.unhealthy;
  if (ill == 0) return OkCheck(kName, text);
  return WarnCheck(kName, StrCat(text, "; ", ill, " more are lost or unhealthy"),
                   "\"yarn node -list -states LOST,UNHEALTHY\" shows these nodes and the reasons");
}

std::string PercentOf(double share) { return StrCat(static_cast<int64_t>(share * 100 + 0.5), " %"); }

Check CheckQueues(const QueueView& view, const std::string& user) {
  constexpr const char* kName = "queues";
  std::vector<std::string> open, room;
  bool has_default = view.makes_queues;
  for (const QueueShare& queue : view.queues) {
    if (!queue.takes_jobs || !queue.is_open) continue;
    open.push_back(StrCat(queue.name, " (uses ", PercentOf(queue.used), " of ", PercentOf(queue.most), ")"));
    // A limit of 0 means that the cluster has no nodes now.
    if (queue.used < queue.most || queue.most == 0) room.push_back(queue.name);
    has_default |= queue.name == YarnSpec().queue || queue.name.ends_with("." + YarnSpec().queue);
  }
  if (open.empty() && view.makes_queues) return OkCheck(kName, "YARN creates a queue with the first job that names it");
  if (open.empty())
    return FailCheck(kName, StrCat("no queue is open to user ", user),
                     "an administrator can add the user to yarn.scheduler.capacity.root.QUEUE.acl_submit_applications");
  const std::string text = StrCat("open to user ", user, ": ", Join(open, ", "));
  if (room.empty())
    return WarnCheck(kName, StrCat(text, ": all are full"),
                     "a new job must wait; \"tony list --queue\" shows the jobs in the queues");
  if (!has_default)
    return WarnCheck(kName, StrCat(text, "; queue ", YarnSpec().queue, " is not among them"),
                     StrCat("set tony.yarn.queue, for example to ", room.front()));
  return OkCheck(kName, text);
}

Check CheckLabels(const RmCalls& rm) {
  const auto labels = rm.NodeLabels();
  if (!labels.ok()) return WarnCheck("labels", labels.error().message, "");
  return OkCheck("labels", labels->empty() ? "the cluster has none" : Join(*labels, ", "));
}

// The version is the only answer of the web server that every cluster has, so the check shows its certificate's errors.
Check CheckManagersVersion(const YarnCluster& cluster, const char* name) {
  const std::string url = cluster.rm_web + "/ws/v1/cluster/info";
  auto check = CheckVersion(
      name, cluster.rm_web.empty() ? std::nullopt
                                   : hadoop::WebText(url, "/clusterInfo/hadoopVersion", kAnswerLimit, cluster.trust));
  if (check.health == Health::kOk || !HasHttpsPages(cluster)) return check;
  HttpCall call{.url = url, .trust = cluster.trust};
  call.limits.whole = kAnswerLimit;
  if (const auto answer = hadoop::GetFromDaemon(call); !answer.ok())
    check.text = StrCat(check.text, ": ", answer.error().message);
  return check;
}

void AddResourceManager(const YarnCluster& cluster, Checks& all) {
  constexpr const char* kName = "resourcemanager";
  const RmCalls rm(cluster, kAnswerLimit);
  const auto metrics = rm.Metrics();
  if (!metrics.ok()) {
    all.push_back(
        FailCheck(kName, metrics.error().message,
                  "check that the ResourceManager is running, or set yarn.resourcemanager.address in yarn-site.xml to "
                  "HOST:PORT"));
    return;
  }
  all.push_back(CheckManagersVersion(cluster, kName));
  all.back().text = StrCat(ToText(cluster.rms), " answers: ", all.back().text);
  all.push_back(CheckContainers(rm));
  const auto view = ReadYarnQueue(cluster);
  if (view.ok()) {
    all.push_back(CheckNodes(*metrics, *view));
    all.push_back(CheckQueues(*view, cluster.user));
  } else {
    for (const char* name : {"nodes", "queues"}) all.push_back(FailCheck(name, view.error().message, ""));
  }
  all.push_back(CheckLabels(rm));
}

std::string AdviceOn(const Error& error, const YarnCluster& cluster) {
  if (error.code == ErrorCode::kNotFound)
    return StrCat("run as HDFS's administrator: hdfs dfs -mkdir -p ", cluster.home, " && hdfs dfs -chown ",
                  cluster.user, " ", cluster.home);
  if (error.code == ErrorCode::kNotPermitted)
    return StrCat("run as HDFS's administrator: hdfs dfs -chown ", cluster.user, " ", cluster.home,
                  " && hdfs dfs -chmod u+rwx ", cluster.home);
  if (error.code == ErrorCode::kCannotWrite)
    return "\"tony gc\" makes room; HDFS's administrator can raise the quota: hdfs dfsadmin -setSpaceQuota or "
           "-setQuota";
  return "hdfs dfsadmin -report shows the DataNodes; hdfs dfsadmin -safemode get shows whether HDFS accepts writes";
}

// Writes a file at `path`, and reads it again. `attributes` receives whether an attribute of the file could be set and
// read.
Status TryFile(BlockingHdfs& hdfs, const std::string& path, Status& attributes) {
  constexpr const char* kBytes = "tony doctor";
  constexpr const char* kAttribute = "user.tony.doctor";
  TRY(hdfs.Create(path, kBytes));
  TRY_ASSIGN(const std::string bytes, hdfs.Read(path));
  if (bytes != kBytes) return UnavailableError(path, ": the bytes read differ from the bytes written");
  attributes = [&]() -> Status {
    TRY(hdfs.SetXattr(path, kAttribute, kBytes));
    TRY_ASSIGN(const auto there, hdfs.GetXattrs(path));
    const auto found = there.find(kAttribute);
    if (found != there.end() && found->second == kBytes) return Ok();
    return UnavailableError(path, ": HDFS did not store the attribute ", kAttribute);
  }();
  return Ok();
}

// The number of records that a job writes one after the other, including the entries of its journal. In
// tests/conformance/hadoop/attributes_off, where a record took 230 ms on average, a job of one worker took 4.6 s
// instead of 2.3 s.
constexpr int kRecordsOfJob = 10;
constexpr int kTriedRecords = 6;

// Returns the average time for writing a record without attributes. HDFS closes every second file immediately, and the
// others after 400 ms.
Result<Duration> TimeOfRecord(const YarnCluster& cluster) {
  const auto calls = std::make_shared<BlockingHdfs>(HdfsOptions(cluster));
  const HdfsBytes records(calls, {});
  const std::string path = StrCat(cluster.home, "/.tony-doctor-", RandomHex(8));
  const auto put = [&] { return records.Put(path, "tony doctor", hadoop::HdfsRename::kOverwrite); };
  // The first write is not measured, because it also finds out that attributes are off.
  auto written = put();
  const Duration began = SinceBoot();
  for (int tried = 0; tried < kTriedRecords && written.ok(); ++tried) written = put();
  const Duration took = SinceBoot() - began;
  (void)calls->Remove(path);
  TRY(written);
  return took / kTriedRecords;
}

Check AttributesOff(const YarnCluster& cluster, const Error& why) {
  const auto time = TimeOfRecord(cluster);
  const std::string cost =
      time.ok() ? StrCat("; a record took ", time->count(), " ms as a file, and each job waits for about ",
                         kRecordsOfJob, " such writes: ", Seconds(*time * kRecordsOfJob))
                : "";
  return WarnCheck("attributes", StrCat(why.message, cost),
                   "jobs run without attributes, too; with dfs.namenode.xattrs.enabled=true in the NameNode's "
                   "hdfs-site.xml, jobs start and end sooner");
}

std::string WayOfFiles(const YarnCluster& cluster) {
  if (!cluster.gateway.empty()) return StrCat("RPC and ", cluster.gateway);
  return UsesWebHdfs(cluster) ? "WebHDFS" : "RPC";
}

void AddWrite(const YarnCluster& cluster, BlockingHdfs& hdfs, Checks& all) {
  const std::string path = StrCat(cluster.home, "/.tony-doctor-", RandomHex(8));
  Status attributes = Ok();
  const Duration began = SinceBoot();
  const Status written = TryFile(hdfs, path, attributes);
  const auto removed = hdfs.Remove(path);
  const Duration took = SinceBoot() - began;
  if (!written.ok()) {
    all.push_back(FailCheck("hdfs", written.error().message, AdviceOn(written.error(), cluster)));
    return;
  }
  all.push_back(removed.ok()
                    ? OkCheck("hdfs", StrCat("a file was written into ", cluster.home, ", read and removed in ",
                                             took.count(), " ms, by ", WayOfFiles(cluster)))
                    : WarnCheck("hdfs", removed.error().message, StrCat("hdfs dfs -rm ", path)));
  all.push_back(attributes.ok() ? OkCheck("attributes", "HDFS stored and returned an extended attribute")
                                : AttributesOff(cluster, attributes.error()));
}

void AddHdfs(const YarnCluster& cluster, Checks& all) {
  constexpr const char* kName = "namenode";
  hadoop::Hdfs::Options options = HdfsOptions(cluster);
  options.limits.connect = kAnswerLimit;
  options.limits.stalled = options.limits.whole = kWriteLimit;
  BlockingHdfs hdfs(std::move(options));
  const auto home = hdfs.GetEntry(cluster.home);
  if (!home.ok() && IsOfCertificate(home.error())) {
    all.push_back(FailCheck(kName, home.error().message, ""));
    return;
  }
  if (!home.ok() && home.error().code == ErrorCode::kUnavailable) {
    all.push_back(FailCheck(kName, home.error().message,
                            StrCat("check that the NameNode is running and active, or set ", AddressKeyOf(cluster),
                                   " in hdfs-site.xml to HOST:PORT")));
    return;
  }
  std::optional<std::string> version;
  for (const std::string& base : cluster.webhdfs)
    if (!version)
      version = hadoop::WebText(base + "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", "/beans/0/SoftwareVersion",
                                kAnswerLimit, cluster.trust);
  // Only the web server tells the version.
  all.push_back(version || UsesWebHdfs(cluster) ? CheckVersion(kName, version) : OkCheck(kName, WayTo(cluster)));
  all.back().text = StrCat(HdfsPlacesOf(cluster), " answers: ", all.back().text);
  if (home.ok()) return AddWrite(cluster, hdfs, all);
  all.push_back(FailCheck("hdfs", StrCat("home folder: ", home.error().message), AdviceOn(home.error(), cluster)));
}

}  // namespace

Checks CheckYarnHealth() {
  const auto cluster = FindYarnCluster(JobId());
  Checks all = {CheckConfiguration(cluster), CheckShipped()};
  if (!cluster.ok()) return all;
  if (!cluster->rm_principal.empty()) all.push_back(CheckLogin());
  all.push_back(CheckNetwork(*cluster));
  AddResourceManager(*cluster, all);
  AddHdfs(*cluster, all);
  return all;
}

namespace {

using hadoop::ApplicationReport;
using hadoop::ApplicationState;

constexpr Duration kQueueLimit{2000};
// Limit of the number of queues. A cluster with more queues has its own pages for them.
constexpr size_t kMostQueues = 100;

QueuedJob JobOf(const ApplicationReport& report) {
  const bool runs = report.state == ApplicationState::kRunning;
  return {.job = {hadoop::ToString(report.id)},
          .user = report.user,
          .queue = report.queue,
          .runs = runs,
          .priority = report.priority,
          .memory_mb = std::max<int64_t>(0, report.used.memory_mib),  // -1: hidden from this user
          .vcores = std::max(0, report.used.vcores),
          .gpus = report.used.Other(kGpuType),
          .since = report.started,
          .why = AmWaitReason(report)};
}

void AddQueue(const ClusterQueues& queues, const hadoop::QueueReport& report, QueueView& view) {
  QueueShare queue{.name = report.path,
                   .takes_jobs = queues.TakesJobs(report),
                   .is_open = queues.IsOpen(report),
                   .guaranteed = report.guaranteed,
                   .most = report.most,
                   .used = report.used};
  for (const QueuedJob& job : view.jobs)
    if (job.queue == report.path) ++(job.runs ? queue.running : queue.waiting);
  view.queues.push_back(queue);
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

Result<QueueView> ReadYarnQueue(const YarnCluster& cluster) {
  const RmCalls rm(cluster, kQueueLimit);
  QueueView view;
  view.place = ToText(cluster.rms);
  TRY_ASSIGN(const auto nodes, rm.RunningNodes());
  AddNodes(nodes, view);
  TRY_ASSIGN(auto reports, rm.Applications());
  TRY_ASSIGN(ClusterQueues queues, ReadQueues(rm));
  ReadQueueRules(cluster, queues);
  for (ApplicationReport& report : reports)
    if (const auto* queue = queues.Find(report.queue)) report.queue = queue->path;
  view.jobs = QueuedJobs(reports);
  view.makes_queues = queues.root.is_fair;
  for (const hadoop::QueueReport* queue : queues.All())
    if (view.queues.size() < kMostQueues) AddQueue(queues, *queue, view);
  return view;
}

}  // namespace tony
