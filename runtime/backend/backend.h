// The schedulers that a job may run on, as verbs and adapters reach them: what each brings beside the AM's part.
#pragma once

#include <memory>

#include "runtime/base/event_loop.h"
#include "runtime/job/ids.h"
#include "runtime/job/job_spec.h"
#include "runtime/scheduler/am_launcher.h"
#include "runtime/scheduler/arbiter.h"

namespace tony {

// Has no state of its own; any thread.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual const Arbiter& arbiter() const = 0;
  // For who may also bring the job's AM back. The loop must outlive it.
  virtual std::unique_ptr<AmLauncher> MakeLauncher(EventLoop& loop) const = 0;
};

// Of a job that is there, by its id; of one that is to be made.
const Backend& BackendOf(const JobId& job);
const Backend& BackendFor(const JobSpec& spec);

}  // namespace tony
