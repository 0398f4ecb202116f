// Where the logs and the page of a job are.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

// Has no state; any thread.
class JobLogs {
 public:
  virtual ~JobLogs() = default;
  // kUnavailable says where else the logs are read.
  virtual Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const = 0;
  virtual std::string PlaceOfLogs(const JobRecords& records) const = 0;  // for people
  // Where a browser finds a job that has no master yet, or has ended; empty: there is no page without a master.
  virtual std::string PageWithoutMaster(const JobId&) const { return ""; }
};

}  // namespace tony
