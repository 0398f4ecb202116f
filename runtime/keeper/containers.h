// The record of a container on disk, in the file containers/<id>. A later keeper (supervisor of the job) adopts
// containers with the help of these records.
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
  // The pid of the executor; 0: no pid is recorded, because the keeper died between the fork and the record.
  pid_t pid = 0;
  std::string start_time;  // start time of the executor
  std::vector<int> gpus;   // GPU numbers of the container
  // The cgroup that was made for the container, or was about to be made; empty: none.
  std::filesystem::path cgroup;
  std::optional<ContainerExited> exited;
};

// Reads and writes the container records of a job. Lines are appended and never synced, because no container survives a
// power cut. A torn last line is ignored.
class ContainerRecords {
 public:
  explicit ContainerRecords(const JobRecords& records) : folder_(records.place() / "containers") {}

  // Records a launch. Call this before the cgroup is made and before the executor is forked.
  Status Launching(const ContainerId& id, const std::vector<int>& gpus, const std::filesystem::path& cgroup) const;
  Status Started(const ContainerId& id, pid_t pid, const std::string& start_time) const;
  Status Exited(const ContainerExited& exited) const;
  Result<std::vector<ContainerRecord>> ReadAll() const;

 private:
  Status Append(const ContainerId& id, const std::string& line) const;
  std::filesystem::path folder_;
};

// Returns true if the id, which comes from the AM, is safe as a file name.
bool IsContainerName(const ContainerId& id);

// The following functions choose the GPUs of a container and build the environment that shows these GPUs to its
// processes. Pure.

// Returns the `count` lowest numbers of `all` that are not in `taken`; nullopt if too few are left.
std::optional<std::vector<int>> PickGpus(const std::vector<int>& all, const std::vector<int>& taken, int count);

// Returns the GPU variables for a container's processes. If the machine has GPUs and the container has none,
// CUDA_VISIBLE_DEVICES is set to an empty value. Without that variable CUDA would show the GPUs of other containers.
// `names` replace the numbers of GPUs.
std::vector<std::string> GpuEnvironment(const std::vector<int>& gpus, bool machine_has_gpus,
                                        const std::map<int, std::string>& names = {});

std::string NumberList(const std::vector<int>& numbers);  // e.g. "0,3"

// The limits of open files for keeper, AM and tasks. An AM has a connection to each executor, and the keeper has a
// descriptor for each executor, so their limits are raised. A task keeps the limit of its submitter, because programs
// that use select() break above 1024.

void RaiseOpenFiles();                             // for this process and its children
void LimitOpenFiles(pid_t process, int64_t soft);  // for a child process

// A daemon of a task may have no mark in its environment and none of our processes among its ancestors. The following
// function finds such a daemon, because the daemon still writes to the job's logs.

// Returns true if standard output or error of the process is open for writing on a file below `folder`, an absolute
// path without links. Only processes of the job write to its logs. Processes that read them do not count.
bool WritesBelow(pid_t process, const std::filesystem::path& folder);

// The containers of the keeper: starts executors, notices their ends, and cleans up the processes that they leave.
//
//   (launch) -> kRunning --executor ended--------------------> kSweeping --nothing left--> kEnded
//                  |                                               ^
//                  +--kill--> kKilling --executor ended------------+
//
// SIGKILL does not end a process of another user or a process that the kernel holds. The keeper waits for such a
// process only for a limited time. Then the container goes from kKilling or kSweeping to kLeft, and its end is reported
// with the name of the process (ContainerExited::left). When the process has exited, the container goes to kEnded.
// Until then the container keeps its GPUs, and the job keeps its reservation in the ledger.
//
// A launch waits until the job is admitted to the machine and the GPUs of the container are free. Sweeping and killing
// send SIGKILL to all processes that are found, and search again, until none is found. In the usual case an executor
// leaves nothing, and no search through all processes is needed.

// A Containers object is used on the loop thread only. Ended containers stay known until the end of the job.
class Containers {
 public:
  // The share of this machine that the job holds.
  struct Admission {
    // The descriptor that locks the job's reservation in the ledger. Executors inherit the descriptor, so the
    // reservation lives as long as any of them.
    int lock = -1;
    std::vector<int> gpus;
    bool machine_has_gpus = false;
    // The names that tasks find instead of the numbers of GPUs.
    std::map<int, std::string> gpu_names = {};
  };
  struct Listener {
    std::function<void(const ContainerId&)> on_started;
    // Called when no process of the container is left, or when the remaining processes cannot be ended
    // (ContainerExited::left).
    std::function<void(const ContainerExited&)> on_exited;
  };
  // `environment` is the environment of every executor; the variables of a launch override it.
  // `patience` limits the wait for processes that SIGKILL does not end. After the order to kill a container, an AM
  // waits for the container's end longer than `patience`.
  Containers(EventLoop& loop, BoostProcessRunner& runner, const JobRecords& records,
             std::vector<std::string> environment, Listener listener, Duration patience = Duration(10'000));

  // Adopts the containers of an earlier keeper: watches live executors, and cleans up after the others. kUnavailable:
  // this keeper cannot find out which executors live, and another keeper has to try again.
  Status Adopt();
  void FindCgroups(bool with_limits);  // call shortly before the first launch
  void Admit(Admission admission);
  // Starts the container. If the container is already known, only reports its state again.
  void Launch(const LaunchContainer& launch);
  // Stops the container. A container that was never launched ends at once.
  void Stop(const StopContainer& stop);
  void StopAll();  // sends SIGTERM to all executors
  // Sends SIGTERM to each executor that has no descendants, and therefore no task. Each executor is signalled only
  // once.
  void StopIdle();
  void KillAll();
  // Returns true if a container exists whose end was not reported yet.
  bool AnyToEnd() const;
  // Returns a text for people about the processes that remain of containers whose end was reported; empty: no such
  // process.
  std::string Left() const;
  size_t Running() const;
  KeeperInventory Inventory() const;
  // Sends SIGKILL to all processes of the job that are found. Called at the end of the job, when no AM is left. Returns
  // a text for people about the processes that are left in addition to Left(); empty: none.
  std::string KillAllOfJob();
  // Removes cgroups that could not be removed when their containers ended, and forgotten cgroups of any job.
  void RemoveCgroups();

 private:
  enum class State { kRunning, kKilling, kSweeping, kLeft, kEnded };
  struct Container {
    State state = State::kRunning;
    // True if an earlier keeper started the executor. Then neither the executor nor the orphans that it leaves are
    // children of this keeper.
    bool adopted = false;
    pid_t pid = 0;
    HeldProcess process;  // handle on an adopted executor
    // Notices the exit of `process`. Declared after `process`, so it is destroyed first.
    EventLoop::FdWatch watch;
    std::vector<int> gpus;
    std::filesystem::path cgroup;  // empty: none, or removed
    ContainerExited exited;
    Duration killed_for{0};
    std::vector<ProcessEntry> left;  // the remaining processes, in kLeft
  };

  Status AdoptOne(const ContainerRecord& record);
  void StartWaiting();
  // Returns false if the launch still waits for GPUs, or has failed.
  bool MayStart(const LaunchContainer& launch);
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

  // The following functions are defined in containers_end.cc.
  UniqueFd MakeCgroupFor(const LaunchContainer& launch, Container& container);
  void CheckThatItsCgroupHasIt(Container& container);
  void DoWithoutCgroups(Container& container, const std::string& why);
  static void JudgeMemory(Container& container, const std::optional<ExitStatus>& status);
  void RemoveCgroupOf(Container& container);

  SweepScope Scope() const;  // input of the next sweep
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
  const std::filesystem::path folder_;  // folder of the job
  const ContainerRecords records_;
  const std::vector<std::string> environment_;
  const int64_t open_files_;  // limit of a task; 0: unchanged
  const Listener listener_;
  const Duration patience_;
  std::optional<CgroupPlace> cgroups_;  // nullopt: not found, or unusable
  std::jthread warmth_;
  // True once a process was found in the cgroup of a container.
  bool cgroups_work_ = false;
  std::optional<Admission> admission_;  // nullopt: not admitted yet
  std::vector<LaunchContainer> waiting_;
  std::map<ContainerId, Container> containers_;
  std::set<ContainerId> idle_;  // already stopped by StopIdle()
  SharedMemory shared_memory_;  // files in /dev/shm of killed processes
  Duration sweep_delay_{0}, since_sweep_{0};
  Instant swept_at_{};
  EventLoop::Timer sweep_timer_;
};

}  // namespace tony::keeper
