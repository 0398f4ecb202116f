// The ResourceManager's answers for who may wait for them: verbs, and the check before a submit. Each call has a loop
// and a connection of its own, and takes some milliseconds, or as long as `limit`. Any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"
#include "runtime/hadoop/yarn_clients.h"
#include "runtime/job/ids.h"
#include "runtime/spec/property_values.h"

namespace tony {

// Errors are RmClient's.
class RmCalls {
 public:
  RmCalls(Endpoint rm, std::string user, Duration limit) : rm_(std::move(rm)), user_(std::move(user)), limit_(limit) {}

  Result<hadoop::NewApplication> MakeApplication() const;
  Status Submit(const hadoop::Submission& submission) const;
  Result<hadoop::ApplicationReport> Report(const hadoop::ApplicationId& id) const;
  Result<std::vector<hadoop::ApplicationReport>> Applications() const;
  Status Kill(const hadoop::ApplicationId& id, const std::string& reason) const;  // begun, or done
  Result<hadoop::QueueReport> Queue(const std::string& name) const;
  Result<std::vector<std::string>> QueuesOfUser() const;
  Result<std::vector<std::string>> NodeLabels() const;
  Result<hadoop::ClusterMetrics> Metrics() const;
  Result<std::vector<hadoop::NodeReport>> RunningNodes() const;

 private:
  template <class T, class... Parameters, class... Arguments>
  Result<T> Ask(void (hadoop::RmClient::*method)(Parameters...), const Arguments&... arguments) const;

  const Endpoint rm_;
  const std::string user_;
  const Duration limit_;
};

// Which Hadoop cluster jobs go to: where its daemons are, as its site files say, and who we are there. A value.

struct YarnCluster {
  Endpoint rm;                   // of the ResourceManager, for clients
  Endpoint scheduler;            // of the same, for masters
  Endpoint name_node;            // of "hdfs://" addresses
  std::string webhdfs;           // "http://nn.example.org:9870"
  std::string user;              // whom a cluster without Kerberos believes
  std::string home;              // the user's folder in HDFS: "/user/eve"
  std::string rm_web = {};       // "http://rm.example.org:8088"; empty: not known, or by HTTPS alone
  std::string web_proxy = {};    // "http://proxy.example.org:9099", where that is not the ResourceManager; empty: it is
  bool has_queue_rules = false;  // yarn.acl.enable as these site files have it, which may not be the cluster's own.
                                 // Not in the text below
};

// kInvalid names file and key: it cannot be used, or asks for what is not there yet (Kerberos, several NameNodes or
// ResourceManagers, HTTPS). `user`: of this process.
Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user);

// For a job's master, which has no configuration: words that need no quotes and are no secret.
inline constexpr char kClusterVariable[] = "TONY_YARN_CLUSTER";
std::string ToText(const YarnCluster& cluster);
Result<YarnCluster> YarnClusterFromText(const std::string& text);  // kInvalid: it is not of that form

// Where a browser finds the job, also when it has ended: the ResourceManager leads on from there to the master's own
// page, or to its page of the application. Empty: not known.
std::string PageOf(const YarnCluster& cluster, const JobId& job);
std::string WebProxyOf(const YarnCluster& cluster);  // "http://rm.example.org:8088"; empty: not known

// Which one of them says yarn_configured.h: where a job with these site files goes, or where this job is; an empty id
// names no job. $HADOOP_USER_NAME goes before the user's own name, as in Hadoop's clients. kInvalid names the variable,
// the key or the note: it is not set, or there are no site files as they should be.
Result<YarnCluster> FindYarnCluster(const SiteFiles& files);
Result<YarnCluster> FindYarnCluster(const JobId& job);

}  // namespace tony
