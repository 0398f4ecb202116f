// The interface through which an AM gets its containers. LocalScheduler, YarnScheduler and the simulator implement it.
//
// All functions must be called on the thread of the event loop. They return at once, and send their results to the sink
// later, never inside a call. A new AM may repeat every call, because the id identifies a container and a repeated
// request changes nothing.
#pragma once

#include <functional>
#include <vector>

#include "runtime/job/scheduler_events.h"

namespace tony {

class Scheduler {
 public:
  using Sink = std::function<void(SchedulerEvent)>;
  virtual ~Scheduler() = default;
  // Returns true if the arbiter was reached within am_lease before this call. After this process was suspended, the
  // result is false even before the SchedulerLost event.
  virtual bool Holds() const = 0;
  // Returns true if the scheduler sees each process of a container and therefore reports each end. A silent attempt
  // then counts as alive until the end of its container is reported.
  virtual bool ConfirmsEnds() const { return false; }
  virtual void Request(const std::vector<ContainerRequest>& asks) = 0;
  // Withdraws the requests for these attempts, which have no container yet. If a container is granted nevertheless, the
  // sink still receives it.
  virtual void Withdraw(const std::vector<AttemptId>& attempts) = 0;
  virtual void Launch(const ContainerId& container, const ExecutorLaunch& what) = 0;
  // Stops a container. A container that was not launched yet never starts.
  virtual void Stop(const ContainerId& container, StopMode mode) = 0;
  // Reports the progress of the job, from 0 to 1, for people who watch the scheduler and not the job.
  virtual void TellProgress(double done) = 0;
  // Ends the job with this verdict, stops all processes that are left of the job, and prevents another start of an AM.
  // `done` is called when the end is recorded.
  virtual void Finish(const Verdict& verdict, std::function<void()> done) = 0;
};

}  // namespace tony
