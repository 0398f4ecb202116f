// What the keeper writes down of each container, so that a keeper that comes after it knows them: containers/<id>.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/event_loop.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/job/scheduler_events.h"
#include "runtime/keeper/container_cgroup.h"
#include "runtime/keeper/keeper_protocol.h"
#include "runtime/keeper/sweep.h"
#include "runtime/os/boost_process_runner.h"
#include "runtime/os/process_tree.h"
#include "runtime/os/shared_memory.h"
#include "runtime/records/job_records.h"

namespace tony::keeper {

struct ContainerRecord {
  ContainerId id;
  pid_t pid = 0;                 // of the executor; 0: the keeper died between fork and writing it down
  std::string start_time;        // of that process
  std::vector<int> gpus;         // that it was given
  std::filesystem::path cgroup;  // that was made for it, or was about to be; empty: none
  std::optional<ContainerExited> exited;
};

// Lines are appended, never synced: after a power cut there is nothing to adopt. A torn last line is ignored.
class ContainerRecords {
 public:
  explicit ContainerRecords(const JobRecords& records) : folder_(records.place() / "containers") {}

  // Before the fork, and before the cgroup is made.
  Status Launching(const ContainerId& id, const std::vector<int>& gpus, const std::filesystem::path& cgroup) const;
  Status Started(const ContainerId& id, pid_t pid, const std::string& start_time) const;
  Status Exited(const ContainerExited& exited) const;
  Result<std::vector<ContainerRecord>> ReadAll() const;

 private:
  Status Append(const ContainerId& id, const std::string& line) const;
  std::filesystem::path folder_;
};

// Whether it may be the name of a file here: an id comes from the AM.
bool IsContainerName(const ContainerId& id);

// Which GPUs of a job a container gets, and how its processes are told. Pure.

// `count` of `all` that are not among `taken`, the lowest first. Nothing: too few are left.
std::optional<std::vector<int>> PickGpus(const std::vector<int>& all, const std::vector<int>& taken, int count);

// What a container's processes start with. `machine_has_gpus`: one that got none must not see those of others, which
// CUDA would show to whoever says nothing.
std::vector<std::string> GpuEnvironment(const std::vector<int>& gpus, bool machine_has_gpus);

std::string NumberList(const std::vector<int>& numbers);  // "0,3"

// How many files keeper, AM and tasks may have open. An AM has a connection to each executor and a keeper a descriptor
// of each, so theirs is raised; a task keeps what its submitter had, as programs that use select() break above 1024.

void RaiseOpenFiles();                             // of this process, and of what it starts
void LimitOpenFiles(pid_t process, int64_t soft);  // of a child

// Finds a task's daemon that has cut all other ties: no mark in its environment, no ancestor of ours.

// Whether standard output or error of the process is open for writing on a file below `folder`, an absolute path
// without links. Nobody but a job's own processes writes to its logs; who reads them is not meant.
bool WritesBelow(pid_t process, const std::filesystem::path& folder);

// The keeper's containers: starts executors, sees them end, and sweeps what they leave.
//
//   (launch) -> kRunning --executor ended--------------------> kSweeping --nothing left--> kEnded
//                  |                                               ^
//                  +--kill--> kKilling --executor ended------------+
//
// SIGKILL does not end a process of another user or one that the kernel holds. Nobody waits for such a process for
// ever: the container goes from kKilling or kSweeping to kLeft, and its end is reported with the name of the process
// (ContainerExited::left). When the process is gone the container goes to kEnded. Until then the container keeps its
// GPUs, and the job its place.
//
// Before that a launch waits until the job is admitted to the machine and has the GPUs that it needs. Sweeping and
// killing: SIGKILL to all that is found, look again, until nothing is found. An executor that leaves nothing, the usual
// case, costs no look at all processes.

// Loop thread only. Ended containers stay known until the job's end.
class Containers {
 public:
  // What the job has of this machine.
  struct Admission {
    int lock = -1;  // of its claim: executors inherit it, so that the claim lives as long as they do
    std::vector<int> gpus;
    bool machine_has_gpus = false;
  };
  struct Listener {
    std::function<void(const ContainerId&)> on_started;
    std::function<void(const ContainerExited&)> on_exited;  // nothing of the container is left
  };
  // `environment`: what every executor starts with, below what its launch says.
  // `patience`: how long what SIGKILL does not end is waited for; below what a master waits for the end of a container
  // that it ordered killed.
  Containers(EventLoop& loop, BoostProcessRunner& runner, const JobRecords& records,
             std::vector<std::string> environment, Listener listener, Duration patience = Duration(10'000));

  // Takes over what an earlier keeper has left: executors that live, or what is left of others. kUnavailable: which of
  // them live cannot be told now, and another keeper has to try again.
  Status Adopt();
  void FindCgroups(bool with_limits);  // soon before the first launch
  void Admit(Admission admission);
  void Launch(const LaunchContainer& launch);  // of a known container: only says again how it stands
  void Stop(const StopContainer& stop);        // one that was never launched ends here and now
  void StopAll();                              // as Stop() with kTerm, of all
  void StopIdle();  // once, those whose executor has no process below it, and so no task to look after
  void KillAll();
  bool AnyToEnd() const;     // whose end has not been told
  std::string Left() const;  // what of containers whose end has been told does not end, for people; "": nothing
  size_t Running() const;
  KeeperInventory Inventory() const;
  // At the end of the job, when no AM is left: SIGKILL to all that is found of it. "": nothing is left beside Left();
  // else what, for people.
  std::string KillAllOfJob();
  void RemoveCgroups();  // that could not be removed as their containers ended

 private:
  enum class State { kRunning, kKilling, kSweeping, kLeft, kEnded };
  struct Container {
    State state = State::kRunning;
    bool adopted = false;  // not our child: nor are the orphans that it leaves
    pid_t pid = 0;
    HeldProcess process;       // an adopted executor, which is not our child
    EventLoop::FdWatch watch;  // of its end; after it, and so released first
    std::vector<int> gpus;
    std::filesystem::path cgroup;  // empty: none, or removed
    ContainerExited exited;
    Duration killed_for{0};
    std::vector<ProcessEntry> left;  // in kLeft
  };

  Status AdoptOne(const ContainerRecord& record);
  void StartWaiting();
  bool MayStart(const LaunchContainer& launch);  // false: it waits, or has ended
  std::vector<int> TakenGpus() const;
  void StartExecutor(const LaunchContainer& launch);
  ProcessSpec ExecutorOf(const LaunchContainer& launch, const Container& container) const;
  Status StartIn(const LaunchContainer& launch, Container& container);
  static bool IsToEnd(const Container& container) {
    return container.state == State::kRunning || container.state == State::kKilling ||
           container.state == State::kSweeping;
  }
  void Kill(const ContainerId& id, Container& container);
  void Terminate(const Container& container);
  void OnExecutorEnded(const ContainerId& id, std::optional<ExitStatus> status);
  void End(const ContainerId& id, Container& container);
  void SayState(const ContainerId& id, const Container& container) const;
  void SweepSoon();
  static void WarnUnless(const Status& status);

  // containers_end.cc
  UniqueFd MakeCgroupFor(const LaunchContainer& launch, Container& container);
  void CheckThatItsCgroupHasIt(Container& container);
  void DoWithoutCgroups(Container& container, const std::string& why);
  static void JudgeMemory(Container& container, const std::optional<ExitStatus>& status);
  void RemoveCgroupOf(Container& container);

  SweepScope Scope() const;  // what a sweep must know now
  bool NothingCanBeLeft() const;
  bool OrphansMayBeInits() const;
  bool IsSpared(pid_t child, const std::set<pid_t>& doomed) const;
  std::set<pid_t> Doomed() const;
  void AddStrayChildren(Victims& victims) const;
  Victims KillLeftovers();
  std::set<pid_t> LeftAlive() const;
  void JudgeLeft(const ContainerId& id, Container& container, const std::set<pid_t>& victims);
  void LookAtLeft(const ContainerId& id, Container& container);
  void Sweep();

  EventLoop& loop_;
  BoostProcessRunner& runner_;
  const JobId job_;
  const std::filesystem::path folder_;  // of the job
  const ContainerRecords records_;
  const std::vector<std::string> environment_;
  const int64_t open_files_;  // a task's limit; 0: as it is
  const Listener listener_;
  const Duration patience_;
  std::optional<CgroupPlace> cgroups_;  // nothing: not found, or of no use
  std::jthread warmth_;
  bool cgroups_work_ = false;           // an executor was seen in one
  std::optional<Admission> admission_;  // nothing: not yet
  std::vector<LaunchContainer> waiting_;
  std::map<ContainerId, Container> containers_;
  std::set<ContainerId> idle_;  // stopped as such
  SharedMemory shared_memory_;  // of what a sweep ends
  Duration sweep_delay_{0}, since_sweep_{0};
  Instant swept_at_{};
  EventLoop::Timer sweep_timer_;
};

}  // namespace tony::keeper
