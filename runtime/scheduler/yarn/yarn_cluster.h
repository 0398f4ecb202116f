// Which Hadoop cluster jobs go to: where its daemons are, as its site files say, and who we are there. A value.
#pragma once

#include <string>

#include "runtime/base/endpoint.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/hadoop_xml.h"

namespace tony {

struct YarnCluster {
  Endpoint rm;          // of the ResourceManager, for clients
  Endpoint scheduler;   // of the same, for masters
  Endpoint name_node;   // of "hdfs://" addresses
  std::string webhdfs;  // "http://nn.example.org:9870"
  std::string user;     // whom a cluster without Kerberos believes
  std::string home;     // the user's folder in HDFS: "/user/eve"
};

// kInvalid names file and key: it cannot be used, or asks for what is not there yet (Kerberos, several NameNodes or
// ResourceManagers, HTTPS). `user`: of this process.
Result<YarnCluster> YarnClusterOf(const hadoop::SiteConfiguration& site, std::string user);

// For a job's master, which has no configuration: words that need no quotes and are no secret.
inline constexpr char kClusterVariable[] = "TONY_YARN_CLUSTER";
std::string ToText(const YarnCluster& cluster);
Result<YarnCluster> YarnClusterFromText(const std::string& text);  // kInvalid: it is not of that form

// By $HADOOP_CONF_DIR; $HADOOP_USER_NAME goes before the user's own name, as in Hadoop's clients. kInvalid: it is not
// set, or not a folder with site files.
Result<YarnCluster> FindYarnCluster();

}  // namespace tony
