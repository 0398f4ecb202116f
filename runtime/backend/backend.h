// A scheduler on which jobs can run, as seen by verbs and adapters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/backend/arbiter.h"
#include "runtime/backend/backend_values.h"
#include "runtime/backend/cluster_files.h"
#include "runtime/backend/job_logs.h"
#include "runtime/backend/operations.h"
#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/job/ids.h"
#include "runtime/records/job_records.h"
#include "runtime/records/request_index.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// A Backend has no state of its own and may be used by any thread.
class Backend {
 public:
  // `keeps_programs` is true if jobs run programs of this machine. Each job then keeps a copy of the programs with
  // which the job was submitted.
  explicit Backend(bool keeps_programs) : keeps_programs_(keeps_programs) {}
  virtual ~Backend() = default;
  bool keeps_programs() const { return keeps_programs_; }

  // Jobs() returns the jobs of this user, and Requests() the index that finds jobs by request id. Both fail if the
  // place of the records is unknown or cannot be reached.
  virtual Result<std::unique_ptr<JobStore>> Jobs(const ClusterOf& of) const = 0;
  virtual Result<std::unique_ptr<RequestIndex>> Requests(const ClusterOf& of) const = 0;
  virtual const Arbiter& arbiter() const = 0;
  // Returns an arbiter that can also restart a job's AM. The loop must outlive the arbiter.
  virtual std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const = 0;
  // Checks whether the scheduler can ever run the job, before anything is staged or started. The error contains the
  // reason why it cannot.
  virtual Result<CheckedJob> Check(const ParsedJobSpec& job, CheckFor purpose) const = 0;
  // Lowers RoleSpec::max_parallel to what the scheduler can hold, if the scheduler reserves all tasks of a job together.
  virtual Status LimitParallel(JobSpec&) const { return Ok(); }
  // Returns what a submit would request, upload and start; empty if the spec already shows all these steps.
  virtual Result<PlannedSteps> Plan(const ParsedJobSpec&) const { return PlannedSteps(); }
  virtual const JobLogs& logs() const = 0;
  // Returns null if the scheduler has no file system.
  virtual const ClusterFiles* cluster_files() const { return nullptr; }
  virtual const Operations& operations() const = 0;

 private:
  const bool keeps_programs_;
};

}  // namespace tony
