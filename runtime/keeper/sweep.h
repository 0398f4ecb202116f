// Decides which processes of this machine a sweep (the cleanup of a job) must kill. Pure: works on a list of processes.
// The mark of a process is its environment variable TONY_CONTAINER, which names job and container.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/job/ids.h"
#include "runtime/os/process_tree.h"

namespace tony::keeper {

struct SweepScope {
  JobId job;
  pid_t keeper = 0;            // never a victim
  std::set<ContainerId> live;  // containers whose processes are spared
  // Returns true for a process that the keeper itself started: the AM and the executors.
  std::function<bool(pid_t)> is_own_child;
  // Returns true for a process that writes to the job's logs. Such a process is a stray (it has no mark and must be
  // killed), except below the `live_executors`. Set if executors were adopted, because their orphans do not become
  // children of the keeper; otherwise null.
  std::function<bool(pid_t)> writes_logs = nullptr;
  std::set<pid_t> live_executors = {};
};

struct Victims {
  std::vector<pid_t> pids;
  // Returns true if a process of the container, or a process that may belong to any container, still exists.
  bool MayBeOf(const ContainerId& container) const { return strays || containers.contains(container); }
  bool Empty() const { return pids.empty() && containers.empty() && !strays; }
  std::set<ContainerId> containers;
  bool strays = false;
};

// Returns the container whose mark is in the environment; nullopt: no container of this job.
std::optional<ContainerId> ContainerOf(const std::string& environment, const JobId& job);

// Finds every process with the mark of a container that is not live. Also finds every orphan that became a child of the
// keeper, with all processes below it. Processes with the mark of a live container are spared. A process that cleared
// its environment is found by its ancestors, or by the logs to which it still writes.
Victims FindLeftovers(const std::vector<ProcessEntry>& processes, const SweepScope& scope);

// Finds all processes at the end of the job: those with the job's mark, those below the keeper, and those that write to
// the job's logs.
std::vector<pid_t> FindAllOfJob(const std::vector<ProcessEntry>& processes, const SweepScope& scope);

}  // namespace tony::keeper
