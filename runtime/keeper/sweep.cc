#include "runtime/keeper/sweep.h"

#include <algorithm>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"

namespace tony::keeper {

std::optional<ContainerId> ContainerOf(const std::string& environment, const JobId& job) {
  const std::string prefix = ContainerMark(job, {});
  const auto mark = VariableIn(environment, kContainerMark);
  if (!mark.starts_with(prefix)) return std::nullopt;
  return ContainerId{std::string(mark.substr(prefix.size()))};
}

namespace {

// Returns true if the list has all ancestors of the process, up to init. The list lacks an ancestor that ended while
// the list was made.
bool DescentIsKnown(const std::vector<ProcessEntry>& processes, const ProcessEntry& process) {
  const ProcessEntry* at = &process;
  for (size_t steps = 0; at->parent > 1; ++steps) {
    const auto parent = std::ranges::find(processes, at->parent, &ProcessEntry::pid);
    if (parent == processes.end() || steps > processes.size()) return false;
    at = &*parent;
  }
  return true;
}

// Returns the processes that have no mark, are not below a live executor, and write to the job's logs.
std::set<pid_t> LogWriters(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  std::set<pid_t> writers;
  if (!scope.writes_logs) return writers;
  std::set<pid_t> spared = scope.live_executors;
  for (const pid_t executor : scope.live_executors)
    for (const pid_t below : DescendantsIn(processes, executor)) spared.insert(below);
  for (const auto& process : processes) {
    const bool own = process.pid == scope.keeper || scope.is_own_child(process.pid);
    if (!own && !spared.contains(process.pid) && !ContainerOf(process.environment, scope.job) &&
        scope.writes_logs(process.pid) && DescentIsKnown(processes, process))
      writers.insert(process.pid);
  }
  return writers;
}

// Returns the orphans that became children of the keeper, and the processes that write to the job's logs, with all
// processes below them.
std::set<pid_t> Strays(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  std::set<pid_t> tops = LogWriters(processes, scope);
  for (const auto& process : processes)
    if (process.parent == scope.keeper && !scope.is_own_child(process.pid)) tops.insert(process.pid);
  std::set<pid_t> strays = tops;
  for (const pid_t top : tops)
    for (const pid_t below : DescendantsIn(processes, top)) strays.insert(below);
  return strays;
}

}  // namespace

Victims FindLeftovers(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  const std::set<pid_t> strays = Strays(processes, scope);
  Victims victims;
  for (const auto& process : processes) {
    if (process.pid == scope.keeper) continue;
    const auto container = ContainerOf(process.environment, scope.job);
    if (container && scope.live.contains(*container)) continue;
    if (!container && !strays.contains(process.pid)) continue;
    victims.pids.push_back(process.pid);
    if (container) victims.containers.insert(*container);
    if (!container) victims.strays = true;
  }
  return victims;
}

std::vector<pid_t> FindAllOfJob(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  std::set<pid_t> found = LogWriters(processes, scope);
  for (const pid_t below : DescendantsIn(processes, scope.keeper)) found.insert(below);
  for (const auto& process : processes) {
    if (VariableIn(process.environment, kJobMark) == scope.job.value || ContainerOf(process.environment, scope.job))
      found.insert(process.pid);
  }
  found.erase(scope.keeper);
  return {found.begin(), found.end()};
}

}  // namespace tony::keeper
