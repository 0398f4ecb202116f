// Reads logs from the pages of a container's node, by HTTP or HTTPS. A node shows a log while the container runs and
// for some time afterwards. The node then removes the log (yarn.nodemanager.log.retain-seconds, 3 hours) or moves the
// log to HDFS (log aggregation).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"
#include "runtime/net/http_client.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/am_connection.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

// The maximum size in bytes of a part of a log. A node serves only the end of a log.
inline constexpr int64_t kMostOfNodeLog = 8 << 20;

// Returns which HTTPS servers of the cluster are trusted (YarnCluster::trust). May block.
using FindTrust = std::function<Result<std::shared_ptr<const HttpTrust>>()>;

// Returns the last kMostOfNodeLog bytes of a log. `link` has the form that yarn/yarn_ends.h describes. Waits for the
// node, a few seconds at most. kNotFound: the node no longer has the log. kUnavailable: the node does not answer.
// kInvalid: the answer does not have the form of a NodeManager's answer. Others: DistrustError(), and errors of
// `find_trust`, which may be null. Any thread.
Result<LogExcerpt> FetchNodeLog(const std::string& link, const std::string& stream, const FindTrust& find_trust);

// Returns the log that a NodeManager's answer contains. Pure.
Result<LogExcerpt> NodeLogIn(const std::string& body, const std::string& stream);

// Access to the AM of a job that runs on other machines, for readers of logs.

struct AmAccess {
  Address am;
  std::string token;
  MakeChannel tls;
  // Returns true once the scheduler has given up this AM, so that another AM leads or will lead. May block, and is
  // called by any thread. Null: the AM lives as long as the caller.
  std::function<bool()> is_replaced = {};
};

// Returns how to reach the AM, or an error if the AM cannot be found now. kUnavailable: no AM has been leader yet. May
// block.
using FindMaster = std::function<Result<AmAccess>()>;
std::unique_ptr<AmConnection> ConnectTo(const AmAccess& way, EventLoop& loop, const JobRecords& records);

// Requests status and logs from the AM over one connection. A call blocks for a few seconds at most. Not thread-safe.
class AmLogs {
 public:
  // `records` and `find` must outlive this object.
  AmLogs(const JobRecords& records, const FindMaster& find) : records_(records), find_(find) {}

  Result<JobStatus> Status();
  Result<LogAnswer> Read(const LogQuery& query);  // `query.wait` must be 0

 private:
  template <class T>
  Result<T> Ask(const std::function<void(AmConnection&, const std::string&, OnAnswer<T>)>& ask);
  tony::Status Connect();

  const JobRecords& records_;
  const FindMaster& find_;
  EventLoop loop_;
  std::string token_;
  // Null: the next call finds the AM and connects to it.
  std::unique_ptr<AmConnection> am_;
};

// Reads logs that NodeManagers moved to HDFS after the end of an application. Clusters do this if
// yarn.log-aggregation-enable is on, and their nodes no longer show these logs.
//
//   <yarn.nodemanager.remote-app-log-dir>/<user>/bucket-<suffix>/<the id's last four digits>/<application>/<node>
//   <the same>                          /<user>/<suffix>/<application>/<node>             before Hadoop 3.3
//
// The suffix depends on the format. The ResourceManager names the folder above. If it does not answer, Hadoop's default
// folder is used. One thread.

class AggregatedLogs {
 public:
  AggregatedLogs(const YarnCluster& cluster, JobId job);

  // Returns the last kMostOfNodeLog bytes of a log. `link` has the form that yarn/yarn_ends.h describes. Waits for
  // HDFS. kNotFound: the log has not been moved (yet). kInvalid: the log cannot be read. Errors name the folder.
  Result<LogExcerpt> Fetch(const std::string& link, const std::string& stream);

 private:
  struct Folder {
    std::shared_ptr<BlockingHdfs> hdfs;
    std::string path;
    std::vector<hadoop::HdfsEntry> files;
  };
  struct File {
    std::shared_ptr<BlockingHdfs> hdfs;
    std::string path;
    int64_t length = 0;
    bool is_of_host = false;
  };
  // A job has folders with several suffixes if its nodes have several formats. Returns at least one folder.
  Result<std::vector<Folder>> FindFolders();
  Result<std::vector<Folder>> LookIn(const std::shared_ptr<BlockingHdfs>& hdfs, const std::string& of_user);
  static void CutToValidLengths(Folder& folder);
  static std::vector<File> InOrder(const std::vector<Folder>& folders, const std::string& host);
  static Result<hadoop::AggregatedLog> ReadFrom(const File& file, const std::string& container,
                                                const std::string& stream);

  const YarnCluster cluster_;
  const JobId job_;
};

}  // namespace tony
