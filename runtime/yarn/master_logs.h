// The way to the master of a job that runs elsewhere, for who reads its logs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/address.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/job_status.h"
#include "runtime/job/log_pieces.h"
#include "runtime/records/job_records.h"
#include "runtime/rpc/am_connection.h"

namespace tony {

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

}  // namespace tony
