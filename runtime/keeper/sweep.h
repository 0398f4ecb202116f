// Which processes of this machine a sweep must end. Pure: works on a list of processes.
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
  pid_t keeper = 0;                         // never a victim
  std::set<ContainerId> live;               // theirs are spared
  std::function<bool(pid_t)> is_own_child;  // started by the keeper itself: the AM and executors
  // Where executors were adopted, whose orphans do not come to the keeper: how else a stray is known, and below whom
  // nobody is one. Nothing: there are none.
  std::function<bool(pid_t)> writes_logs = nullptr;
  std::set<pid_t> live_executors = {};
};

struct Victims {
  std::vector<pid_t> pids;
  // Whether something of the container, or something that may be of any container, is still there.
  bool MayBeOf(const ContainerId& container) const { return strays || containers.contains(container); }
  bool Empty() const { return pids.empty() && containers.empty() && !strays; }
  std::set<ContainerId> containers;
  bool strays = false;
};

// Whose mark is in the environment. Nothing: no container's of this job.
std::optional<ContainerId> ContainerOf(const std::string& environment, const JobId& job);

// Everything with the mark of a container that is not live, and every orphan that came to the keeper, with all below
// it, unless it has the mark of a live container: who cleared its environment is found by its descent. Where that does
// not help, by the logs that it still writes to.
Victims FindLeftovers(const std::vector<ProcessEntry>& processes, const SweepScope& scope);

// At the end of the job: everything with its mark, everything below the keeper, whoever writes to its logs.
std::vector<pid_t> FindAllOfJob(const std::vector<ProcessEntry>& processes, const SweepScope& scope);

}  // namespace tony::keeper
