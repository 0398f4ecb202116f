// Reads the lease record of a job from HDFS, for an executor. The record is an attribute of an empty file
// (records/hdfs/README.md), so each read is one request for attributes to a NameNode, by WebHDFS or by RPC.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/time.h"
#include "runtime/hadoop/hdfs.h"
#include "runtime/net/http_client.h"
#include "runtime/records/job_records.h"
#include "runtime/yarn/container_launch.h"

namespace tony {

// Loop thread only. At most one read is under way.
class LeaseReader {
 public:
  // Receives the record; nullopt if it does not exist. kNotFound: the job's folder was removed. Other errors: the
  // record cannot be read now. The function may destroy the reader.
  using OnLease = std::function<void(Result<std::optional<LeaseRecord>>)>;

  // `place` has at least one NameNode. A read takes at most `limit`, which is divided among the NameNodes. The first
  // read returns `first`, the record of the AM that has just started this executor, without a request.
  LeaseReader(EventLoop& loop, LeasePlace place, LeaseRecord first, Duration limit);

  // Calls `done` later with the record. Does nothing if a read is under way, because its answer comes soon.
  void Read(OnLease done);

 private:
  void Ask();
  using Xattrs = std::map<std::string, std::string>;
  void AskByRpc();
  void Take(const Result<Xattrs>& attributes);
  Result<std::optional<LeaseRecord>> LeaseIn(const Result<Xattrs>& attributes);
  void Tell(const Result<std::optional<LeaseRecord>>& lease);
  std::string Subject() const;
  Result<HttpServerAddress> NameNode() const;
  Result<std::string> TokenText() const;

  EventLoop& loop_;
  const LeasePlace place_;
  const Duration limit_;
  std::optional<LeaseRecord> first_;
  // The index of the NameNode to ask, and the number of NameNodes that have not been asked in this read.
  size_t name_node_ = 0, unasked_ = 0;
  // True if the record did not exist at the last read. The next read then looks for the job's folder and not for the
  // record, because the number of reads of a job is limited (executor/lease_sight.h).
  bool looks_for_folder_ = false;
  std::string last_error_;
  OnLease done_;
  std::unique_ptr<hadoop::Hdfs> hdfs_;       // null: no call by RPC
  std::unique_ptr<EventLoop::Handle> call_;  // null: no read is under way
};

}  // namespace tony
