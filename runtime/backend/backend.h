// The schedulers that a job may run on, as verbs and adapters reach them.
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

// Has no state of its own; any thread.
class Backend {
 public:
  // `keeps_programs`: the jobs run programs of this machine, so that each keeps those that it was submitted with.
  explicit Backend(bool keeps_programs) : keeps_programs_(keeps_programs) {}
  virtual ~Backend() = default;
  bool keeps_programs() const { return keeps_programs_; }

  // This user's jobs, and what is known under request ids. Errors: the place is not known, or not reached.
  virtual Result<std::unique_ptr<JobStore>> Jobs(const ClusterOf& of) const = 0;
  virtual Result<std::unique_ptr<RequestIndex>> Requests(const ClusterOf& of) const = 0;
  virtual const Arbiter& arbiter() const = 0;
  // An arbiter that can also start a job's AM again. The loop must outlive it.
  virtual std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const = 0;
  // Whether the scheduler can run the job at all, asked before anything is staged or started; the error says why not.
  // The value is what a person should know beside that, in lines.
  virtual Result<std::vector<std::string>> Check(const ParsedJobSpec& job, CheckFor purpose) const = 0;
  // What a submit would ask, ship and start there; nothing where the spec says all of it.
  virtual Result<PlannedSteps> Plan(const ParsedJobSpec&) const { return PlannedSteps(); }
  virtual const JobLogs& logs() const = 0;
  // Null: the scheduler has no file system of its own.
  virtual const ClusterFiles* cluster_files() const { return nullptr; }
  virtual const Operations& operations() const = 0;

 private:
  const bool keeps_programs_;
};

}  // namespace tony
