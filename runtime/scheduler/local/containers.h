// The keeper's containers: starts executors, sees them end, and sweeps what they leave.
//
//   (launch) -> kRunning --executor ended--------------------> kSweeping --nothing left--> kEnded
//                  |                                               ^
//                  +--kill--> kKilling --executor ended------------+
//
// Sweeping and killing: SIGKILL to all that is found, look again, until nothing is found. An executor that leaves
// nothing, the usual case, costs no look at all processes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/unique_fd.h"
#include "runtime/process/boost_process_runner.h"
#include "runtime/scheduler/local/container_records.h"
#include "runtime/scheduler/local/keeper_protocol.h"
#include "runtime/scheduler/local/sweep.h"

namespace tony::keeper {

// Loop thread only. Ended containers stay known until the job's end.
class Containers {
 public:
  struct Listener {
    std::function<void(const ContainerId&)> on_started;
    std::function<void(const ContainerExited&)> on_exited;  // nothing of the container is left
  };
  // `environment`: what every executor starts with, below what its launch says.
  Containers(EventLoop& loop, BoostProcessRunner& runner, const JobFolder& folder, std::vector<std::string> environment,
             Listener listener);

  // Takes over what an earlier keeper has left: executors that live, or what is left of others.
  Status Adopt();
  void Launch(const LaunchContainer& launch);  // of a known container: only says again how it stands
  void Stop(const StopContainer& stop);        // one that was never launched ends here and now
  void StopAll();                              // as Stop() with kTerm, of all
  void StopIdle();  // once, those whose executor has no process below it, and so no task to look after
  void KillAll();
  bool AnyLeft() const;
  size_t Running() const;
  KeeperInventory Inventory() const;
  SweepScope Scope() const;  // what a sweep must know now

 private:
  enum class State { kRunning, kKilling, kSweeping, kEnded };
  struct Container {
    State state = State::kRunning;
    bool adopted = false;  // not our child: nor are the orphans that it leaves
    pid_t pid = 0;
    UniqueFd pidfd;            // of an adopted executor, which is not our child
    EventLoop::FdWatch watch;  // after pidfd: released before the descriptor closes
    ContainerExited exited;
  };

  void AdoptOne(const ContainerRecord& record);
  void StartExecutor(const LaunchContainer& launch);
  void Kill(const ContainerId& id, Container& container);
  void Terminate(const Container& container);
  void OnExecutorEnded(const ContainerId& id, std::optional<ExitStatus> status);
  void End(const ContainerId& id, Container& container);
  void SayState(const ContainerId& id, const Container& container) const;
  void SweepSoon();
  bool NothingCanBeLeft() const;
  void Sweep();

  EventLoop& loop_;
  BoostProcessRunner& runner_;
  const JobFolder folder_;
  const ContainerRecords records_;
  const std::vector<std::string> environment_;
  const int64_t open_files_;  // a task's limit; 0: as it is
  const Listener listener_;
  std::map<ContainerId, Container> containers_;
  std::set<ContainerId> idle_;  // stopped as such
  Duration sweep_delay_{0};
  EventLoop::Timer sweep_timer_;
};

}  // namespace tony::keeper
