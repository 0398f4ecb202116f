// Logs that NodeManagers have moved to HDFS after the end of an application, as clusters with
// yarn.log-aggregation-enable have it: then nodes show them no longer.
//
//   <yarn.nodemanager.remote-app-log-dir>/<user>/bucket-<suffix>/<the id's last four digits>/<application>/<node>
//   <the same>                          /<user>/<suffix>/<application>/<node>             before Hadoop 3.3
//
// The ResourceManager says where, else it is where Hadoop has it as it comes. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/job/ids.h"
#include "runtime/job/log_pieces.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

class AggregatedLogs {
 public:
  AggregatedLogs(const YarnCluster& cluster, JobId job);

  // The last kMostOfNodeLog bytes of a log; `link` as yarn/log_links.h has it. Waits for HDFS. kNotFound: it
  // is not there (yet). kInvalid: it cannot be read. Errors name the folder.
  Result<LogExcerpt> Fetch(const std::string& link, const std::string& stream);

 private:
  struct Folder {
    std::string path;
    std::vector<hadoop::HdfsEntry> files;
  };
  Result<Folder> FindFolder();
  Result<std::optional<Folder>> LookIn(const std::string& of_user);
  Result<hadoop::AggregatedLog> ReadFrom(const std::string& path, int64_t length, const std::string& container,
                                         const std::string& stream);

  const YarnCluster cluster_;
  const JobId job_;
  WebHdfsCalls hdfs_;
};

}  // namespace tony
