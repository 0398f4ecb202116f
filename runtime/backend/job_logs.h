// The places of a job's logs and of its page.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/job_records.h"

namespace tony {

// A JobLogs object has no state and may be used by any thread.
class JobLogs {
 public:
  virtual ~JobLogs() = default;
  // Returns a source for the logs of the job. If the logs cannot be read through TonY, the message of kUnavailable
  // contains the place where they can be read.
  virtual Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const = 0;
  virtual std::string PlaceOfLogs(const JobRecords& records) const = 0;  // for people, e.g. a folder
  // Returns the address of the page of a job that has no AM yet, or has ended; empty if pages exist only while an AM
  // runs.
  virtual std::string PageWithoutMaster(const JobId&) const { return ""; }
};

}  // namespace tony
