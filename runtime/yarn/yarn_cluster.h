// Calls to the ResourceManager for callers that may block: commands, and the check before a submit. Each call has its
// own loop and connection. A call takes a few milliseconds, and never more than `limit`. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/hadoop/mount_table.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/ids.h"
#include "runtime/net/http_client.h"
#include "runtime/spec/property_values.h"

namespace tony {

// The Hadoop cluster to which jobs go: the addresses of its daemons, from its site files, and our user name there. A
// value.

struct YarnCluster {
  // The ResourceManagers' addresses for clients and for AMs. Of several ResourceManagers one is active.
  std::vector<Endpoint> rms, schedulers;
  // The NameNode in "hdfs://" addresses. The logical name of several NameNodes has the port -1.
  Endpoint name_node;
  // The NameNodes' web servers, e.g. "http://nn.example.org:9870". Of several NameNodes one is active.
  std::vector<std::string> webhdfs;
  // The user's name on the cluster. A cluster without Kerberos trusts it.
  std::string user;
  // The user's folder in HDFS, such as "/user/eve".
  std::string home;
  // "http://rm.example.org:8088". Empty: not known.
  std::string rm_web = {};
  // "http://proxy.example.org:9099". Empty: the ResourceManager is the proxy.
  std::string web_proxy = {};
  // The principal of the ResourceManagers, such as "rm/_HOST@EXAMPLE.ORG". Empty: the cluster has no Kerberos.
  std::string rm_principal = {};
  // True if yarn.resourcemanager.application-https.policy is STRICT: YARN's proxy reads the pages of AMs only by HTTPS.
  bool has_https_masters = false;
  // yarn.acl.enable in these site files. The cluster's own setting may differ. Not part of ToText().
  bool enforces_queue_acls = false;
  // hadoop.rpc.protection in these site files. The cluster's own setting may differ, too. Not part of ToText().
  std::string rpc_protection = {};
  // Whether the site files demand that the data of blocks is encrypted (dfs.data.transfer.protection,
  // dfs.encrypt.data.transfer). Not part of ToText().
  bool encrypts_blocks = false;
  // How HDFS is called by RPC. Its `name_nodes` are set only if WebHDFS is switched off in the site files
  // (dfs.webhdfs.enabled), or if this is another HDFS (hdfs_location.h).
  hadoop::HdfsRpc hdfs_rpc = {};
  // The web server through which this client reads and writes the bytes of files, e.g. "http://gate.example.org:14000"
  // (HttpFS). Its other calls go to the NameNode by RPC. Empty: none. Only in the note of a cluster, not in ToText(),
  // because AMs and executors call HDFS themselves.
  std::string gateway = {};
  // Each HDFS of the site files that has a logical name.
  struct Named {
    std::vector<Endpoint> rpcs, webs;
    bool operator==(const Named&) const = default;
  };
  std::map<std::string, Named> named_hdfs = {};
  // "viewfs://NAME" if fs.defaultFS is an address of ViewFs, and the mount tables of the site files.
  std::string view = {};
  hadoop::MountTables mounts = {};
  // Which HTTPS servers are trusted. Null if neither HDFS nor YARN has HTTPS. Not part of ToText().
  std::shared_ptr<const HttpTrust> trust = nullptr;
};

// Blocking calls to the ResourceManager of a cluster. If the cluster has several, a call goes to one after the other
// until the active one answers. Errors are those of RmClient.
class RmCalls {
 public:
  // `identity` replaces RmIdentityOf(cluster).
  RmCalls(const YarnCluster& cluster, Duration limit, std::optional<hadoop::RpcIdentity> identity = std::nullopt)
      : cluster_(cluster), limit_(limit), identity_(std::move(identity)) {}

  Result<hadoop::NewApplication> ReserveApplicationId() const;
  Status Submit(const hadoop::Submission& submission) const;
  Result<hadoop::Token> NewToken(const std::string& renewer) const;
  Result<hadoop::ApplicationReport> Report(const hadoop::ApplicationId& id) const;
  Result<std::vector<hadoop::ApplicationReport>> Applications() const;
  // Returns Ok if the kill has begun or is done.
  Status Kill(const hadoop::ApplicationId& id, const std::string& reason) const;
  Result<hadoop::QueueReport> Queue(const std::string& name) const;
  Result<std::vector<std::string>> QueuesOfUser() const;
  Result<std::vector<std::string>> NodeLabels() const;
  Result<hadoop::ClusterMetrics> Metrics() const;
  Result<std::vector<hadoop::NodeReport>> RunningNodes() const;

 private:
  template <class T, class... Parameters, class... Arguments>
  Result<T> Ask(void (hadoop::RmClient::*method)(Parameters...), const Arguments&... arguments) const;

  const YarnCluster cluster_;
  const Duration limit_;
  const std::optional<hadoop::RpcIdentity> identity_;
};

// Reads a cluster's site files. kInvalid names file and key: a value cannot be used, or requires a feature that is not
// supported yet (HTTPS). `user` is the user of this process. With Kerberos, FindYarnCluster() replaces it.
Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user);

// The environment variable that passes the cluster to a job's AM, which has no configuration. The words of its value
// need no quotes and are not secret.
inline constexpr char kClusterVariable[] = "TONY_YARN_CLUSTER";
std::string ToText(const YarnCluster& cluster);
Result<YarnCluster> YarnClusterFromText(const std::string& text);  // kInvalid: not from ToText()

// Returns the text of the cluster in a note (yarn_configured.h). In addition to ToText() it contains `gateway` and
// `trust`.
std::string NoteOf(const YarnCluster& cluster);
Result<YarnCluster> YarnClusterFromNote(const std::string& note);  // kInvalid: not from NoteOf()

// Returns the AMRMProxy of the node on which this container runs, by the site files that the node passes to containers
// in $HADOOP_CONF_DIR. nullopt: the node has none, or passes no site files. Site files that cannot be used are logged.
std::optional<Endpoint> AmRmProxyOfNode();

// Returns whether the NameNodes' web servers have HTTPS.
bool HasHttps(const YarnCluster& cluster);
// Returns false if HDFS is called by RPC, also together with a gateway.
bool UsesWebHdfs(const YarnCluster& cluster);
// Returns the addresses of the RPC servers of the cluster's HDFS.
std::vector<Endpoint> RpcServersOf(const YarnCluster& cluster);
std::string HdfsPlacesOf(const YarnCluster& cluster);  // e.g. "http://nn:9870" or "hdfs://nn1:8020, hdfs://nn2:8020"
// True: the web servers of the ResourceManager and the nodes have HTTPS only (yarn.http.policy).
bool HasHttpsPages(const YarnCluster& cluster);

// Returns e.g. "rm1:8032,rm2:8032".
std::string ToText(const std::vector<Endpoint>& endpoints);

// Returns the numeric addresses of the NameNodes' servers by which HDFS is called. Blocks, as ResolveHost() does.
// kUnavailable: a name does not resolve.
Result<std::vector<Endpoint>> ResolveNameNodes(const YarnCluster& cluster);

// Returns the address of the job's page, which works even after the job has ended. The ResourceManager redirects a
// browser from there to the AM's own page, or to the ResourceManager's page of the application. Empty: not known.
std::string PageOf(const YarnCluster& cluster, const JobId& job);
std::string WebProxyOf(const YarnCluster& cluster);  // e.g. "http://rm.example.org:8088"; empty: not known

// The first function returns the cluster that site files describe. The second returns the cluster of an existing job: a
// note in $TONY_HOME may name it (yarn_configured.h). An empty id stands for the cluster of $HADOOP_CONF_DIR.
// $HADOOP_USER_NAME overrides the user's own name, as in Hadoop's clients. On a cluster with Kerberos, the first
// function finds out the user's name on the cluster, with the errors of cluster_login.h. kInvalid: $HADOOP_CONF_DIR is
// not set, or the site files or the note are missing or malformed. The message names the variable, the key or the note.
Result<YarnCluster> FindYarnCluster(const SiteFiles& files);
Result<YarnCluster> FindYarnCluster(const JobId& job);

}  // namespace tony
