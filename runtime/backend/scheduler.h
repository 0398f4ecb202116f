// Where an AM gets containers from. Seam: LocalScheduler, YarnScheduler, and the simulator's.
//
// Loop thread only. Calls return at once; what happens is told to the sink, never from inside a call. Everything may
// be asked again after the AM died and came back: a container is known by its id, and asking twice changes nothing.
#pragma once

#include <functional>
#include <vector>

#include "runtime/job/scheduler_events.h"

namespace tony {

class Scheduler {
 public:
  using Sink = std::function<void(SchedulerEvent)>;
  virtual ~Scheduler() = default;
  // Whether the arbiter has been reached within am_lease until this very moment. After the process stood still this is
  // false before SchedulerLost can be told.
  virtual bool Holds() const = 0;
  // True where the scheduler sees each process of a container, and so tells each end. An attempt that is silent lives
  // as long as the end of its container has not been told.
  virtual bool ConfirmsEnds() const { return false; }
  virtual void Request(const std::vector<ContainerAsk>& asks) = 0;
  // No container is wanted any more for these, which have none. One that is granted all the same comes to the sink.
  virtual void Withdraw(const std::vector<AttemptId>& attempts) = 0;
  virtual void Launch(const ContainerId& container, const ExecutorLaunch& what) = 0;
  // Also before it was launched: then it never starts.
  virtual void Stop(const ContainerId& container, StopMode mode) = 0;
  // How much of the job is done, from 0 to 1, for those who look at the scheduler and not at the job.
  virtual void TellProgress(double done) = 0;
  // The job has ended so: end what is left of it, and do not start an AM again. `done` is called when that is recorded.
  virtual void Finish(const Verdict& verdict, std::function<void()> done) = 0;
};

}  // namespace tony
