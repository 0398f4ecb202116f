// Where the files of a job are: the HDFS, and the path there. A job may name files of several HDFS, by hdfs:// or
// through a mount table of ViewFs. The user's own HDFS, which has the home folder, is called as the site files demand.
// Any other HDFS is called by RPC, as Hadoop's own clients call it. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/job/job_spec.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

struct HdfsLocation {
  // The cluster, with this HDFS instead of the user's own.
  YarnCluster hdfs;
  std::string path;
};

// Returns the location of one of these addresses:
//   hdfs://HOST:PORT/PATH, hdfs://NAME/PATH, viewfs://NAME/PATH
//   hdfs:///PATH: the file system of fs.defaultFS, which a mount table may divide
//   webhdfs://HOST:PORT/PATH: the NameNode that has this web server in the site files
// kInvalid: the source has another form, or its address leads to no HDFS.
Result<HdfsLocation> Locate(const YarnCluster& cluster, const std::string& source);

// Returns the cluster with the HDFS of a URL such as "hdfs://nn.example.org:8020"; `from` names the setting with the
// URL. kInvalid: the URL does not name an HDFS.
Result<YarnCluster> WithOtherHdfs(const YarnCluster& cluster, const std::string& url, const std::string& from);

// Returns the URLs of all HDFS, except the user's own, for which the job needs tokens: those of tony.other.namenodes,
// and those of the paths that the job names. kInvalid: a path leads to no HDFS, except that of the history, without which
// a job can run.
Result<std::vector<std::string>> OtherHdfsOf(const YarnCluster& cluster, const JobSpec& spec);

// Returns whether both clusters have the same HDFS.
bool IsSameHdfs(const YarnCluster& cluster, const YarnCluster& other);
// Returns the URL of the cluster's HDFS.
std::string OwnHdfs(const YarnCluster& cluster);  // e.g. "hdfs://nn:8020"

}  // namespace tony
