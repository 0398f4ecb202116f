// Logs as the pages of a container's node show them, by HTTP without a login: while the container runs, and afterwards
// for as long as the node keeps them (yarn.nodemanager.log.retain-seconds, 3 hours, or until they are aggregated).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/endpoint.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/hadoop/aggregated_log.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"
#include "runtime/records/hdfs/hdfs_calls.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/am_connection.h"
#include "runtime/yarn/yarn_cluster.h"

namespace tony {

inline constexpr int64_t kMostOfNodeLog = 8 << 20;  // bytes; a node gives no part of a log but its end

// The last kMostOfNodeLog bytes of one; `link` as yarn/yarn_ends.h has it. Waits for the node, some seconds
// at most. kNotFound: the node has it no longer. kUnavailable, kInvalid: it does not answer, or not in the words of a
// NodeManager. Any thread.
Result<LogExcerpt> FetchNodeLog(const std::string& link, const std::string& stream);

// The part of a NodeManager's answer that is the log. Pure.
Result<LogExcerpt> NodeLogIn(const std::string& body, const std::string& stream);

// The way to the master of a job that runs elsewhere, for who reads its logs.

struct WayToMaster {
  Address am;
  std::string token;
  MakeChannel tls;
};

// Errors: not found now; kUnavailable: no master has ruled yet. May wait.
using FindMaster = std::function<Result<WayToMaster>()>;
std::unique_ptr<AmConnection> ConnectTo(const WayToMaster& way, EventLoop& loop, const JobRecords& records);

// Asks and waits, over one connection: some seconds at most. One thread.
class MasterLogs {
 public:
  // Both outlive it.
  MasterLogs(const JobRecords& records, const FindMaster& find) : records_(records), find_(find) {}

  Result<JobStatus> Status();
  Result<LogAnswer> Read(const LogQuery& query);  // without a wait

 private:
  template <class T>
  Result<T> Ask(const std::function<void(AmConnection&, const std::string&, OnAnswer<T>)>& ask);
  tony::Status Connect();

  const JobRecords& records_;
  const FindMaster& find_;
  EventLoop loop_;
  std::string token_;
  std::unique_ptr<AmConnection> am_;  // null: the next call finds the master
};

// Logs that NodeManagers have moved to HDFS after the end of an application, as clusters with
// yarn.log-aggregation-enable have it: then nodes show them no longer.
//
//   <yarn.nodemanager.remote-app-log-dir>/<user>/bucket-<suffix>/<the id's last four digits>/<application>/<node>
//   <the same>                          /<user>/<suffix>/<application>/<node>             before Hadoop 3.3
//
// The ResourceManager says where, else it is where Hadoop has it as it comes. One thread.

class AggregatedLogs {
 public:
  AggregatedLogs(const YarnCluster& cluster, JobId job);

  // The last kMostOfNodeLog bytes of a log; `link` as yarn/yarn_ends.h has it. Waits for HDFS. kNotFound: it
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
