// The schedulers that a job may run on, as verbs and adapters reach them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backend/am_launcher.h"
#include "runtime/backend/arbiter.h"
#include "runtime/backend/garbage.h"
#include "runtime/backend/health.h"
#include "runtime/backend/planned_step.h"
#include "runtime/backend/queue_view.h"
#include "runtime/base/event_loop.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/logs/log_source.h"
#include "runtime/records/files_for_others.h"
#include "runtime/records/job_store.h"
#include "runtime/records/request_index.h"
#include "runtime/records/staged_files.h"
#include "runtime/spec/job_spec_parser.h"

namespace tony {

// Has no state of its own; any thread.
class Backend {
 public:
  virtual ~Backend() = default;
  // Its jobs of this user, and what is known under request ids. Errors: where they are cannot be told, or not reached.
  virtual Result<std::unique_ptr<JobStore>> Jobs() const = 0;
  virtual Result<std::unique_ptr<RequestIndex>> Requests() const = 0;
  // Where such a job is to be made, which its properties may say, and where this one was made.
  virtual Result<std::unique_ptr<JobStore>> JobsFor(const ParsedJobSpec&) const { return Jobs(); }
  virtual Result<std::unique_ptr<RequestIndex>> RequestsFor(const ParsedJobSpec&) const { return Requests(); }
  virtual Result<std::unique_ptr<RequestIndex>> RequestsOf(const JobId&) const { return Requests(); }
  virtual const Arbiter& arbiter() const = 0;
  // kUnavailable says where else they are read.
  virtual Result<std::unique_ptr<LogSource>> LogsOf(const JobRecords& records) const = 0;
  virtual std::string PlaceOfLogs(const JobRecords& records) const = 0;  // for people
  // Where a browser finds a job that has no master yet, or has ended; empty: there is no page without a master.
  virtual std::string PageWithoutMaster(const JobId&) const { return ""; }
  // Whether it can run the job at all, asked before anything is staged or started; else why not. What a person should
  // know beside that, in lines.
  virtual Result<std::vector<std::string>> Check(const ParsedJobSpec& job) const = 0;
  // The same for plan, which changes nothing: why the job would be refused; nothing: it would not.
  virtual std::optional<std::string> WhyRefused(const ParsedJobSpec& job) const = 0;
  // What a submit would ask, ship and start there, for plan; nothing: on this machine the spec says it all.
  virtual Result<PlannedSteps> Plan(const ParsedJobSpec&) const { return PlannedSteps(); }
  // Of a source of the job in its cluster's file system: the file, or those that are in the folder. Errors do not name
  // the source. kInvalid: there is none, or the scheduler has no such file system; kNotPermitted: this user may not
  // read it.
  virtual Result<std::vector<RemoteFile>> LookAt(const ParsedJobSpec& job, const FileSpec& file) const;
  // What writes the files of a job's history into this folder. The job is this backend's.
  virtual Result<std::shared_ptr<const FilesForOthers>> HistoryFiles(const JobId& job, const std::string& folder) const;
  // The whole of such a file, which is read before there is a job: on the cluster that is known without one.
  virtual Result<std::string> ReadFile(const std::string& source) const;
  virtual Result<QueueView> Queue() const = 0;
  // What of its jobs lies elsewhere and may go; what is on this machine the caller removes.
  virtual Result<Garbage> CollectGarbage(const GarbageOrder&) const { return Garbage(); }
  // Whether its jobs run programs of this machine, so that each keeps those that it was submitted with.
  virtual bool KeepsPrograms() const = 0;
  virtual Checks Doctor() const = 0;  // what of it stands in the way of jobs, and what to do
  // For who may also bring the job's AM back. The loop must outlive it.
  virtual std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const = 0;
};

}  // namespace tony
