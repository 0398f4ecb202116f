// The schedulers that a job may run on, as verbs and adapters reach them: what each brings beside the AM's part.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/logs/log_source.h"
#include "runtime/scheduler/am_launcher.h"
#include "runtime/scheduler/arbiter.h"
#include "runtime/scheduler/health.h"
#include "runtime/scheduler/queue_view.h"

namespace tony {

// Has no state of its own; any thread.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Arbiter& arbiter() const = 0;
  virtual std::unique_ptr<LogSource> LogsOf(const JobRecords& records) const = 0;
  // Whether it can run the job at all, asked before anything is staged or started; else why not. What a person should
  // know beside that, in lines.
  virtual Result<std::vector<std::string>> Check(const JobSpec& spec) const = 0;
  // The same for plan, which changes nothing: why the job would be refused; nothing: it would not.
  virtual std::optional<std::string> WhyRefused(const JobSpec& spec) const = 0;
  virtual Result<QueueView> Queue() const = 0;
  virtual Checks Doctor() const = 0;  // what of it stands in the way of jobs, and what to do
  // For who may also bring the job's AM back. The loop must outlive it.
  virtual std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const = 0;
};

// Of a job that is there, by its id; of one that is to be made; where no job is named.
const Backend& BackendOf(const JobId& job);
const Backend& BackendFor(const JobSpec& spec);
const Backend& DefaultBackend();

}  // namespace tony
