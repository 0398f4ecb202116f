#include "runtime/scheduler/local/sweep.h"

#include <optional>
#include <string>

#include "runtime/base/strings.h"
#include "runtime/scheduler/local/environment.h"

namespace tony::keeper {
namespace {

std::optional<ContainerId> ContainerOf(const ProcessEntry& process, const JobId& job) {
  const std::string prefix = ContainerMark(job, {});
  const auto mark = VariableIn(process.environment, kContainerMark);
  if (!mark.starts_with(prefix)) return std::nullopt;
  return ContainerId{std::string(mark.substr(prefix.size()))};
}

// Orphans that came to the keeper, and all below them.
std::set<pid_t> Strays(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  std::set<pid_t> strays;
  for (const auto& process : processes) {
    if (process.parent != scope.keeper || scope.is_own_child(process.pid)) continue;
    strays.insert(process.pid);
    for (const pid_t below : DescendantsIn(processes, process.pid)) strays.insert(below);
  }
  return strays;
}

}  // namespace

Victims FindLeftovers(const std::vector<ProcessEntry>& processes, const SweepScope& scope) {
  const std::set<pid_t> strays = Strays(processes, scope);
  Victims victims;
  for (const auto& process : processes) {
    if (process.pid == scope.keeper) continue;
    const auto container = ContainerOf(process, scope.job);
    if (container && scope.live.contains(*container)) continue;
    if (!container && !strays.contains(process.pid)) continue;
    victims.pids.push_back(process.pid);
    if (container) victims.containers.insert(*container);
    if (!container) victims.strays = true;
  }
  return victims;
}

std::vector<pid_t> FindAllOfJob(const std::vector<ProcessEntry>& processes, const JobId& job, pid_t keeper) {
  std::set<pid_t> found;
  for (const pid_t below : DescendantsIn(processes, keeper)) found.insert(below);
  for (const auto& process : processes) {
    if (VariableIn(process.environment, kJobMark) == job.value || ContainerOf(process, job)) found.insert(process.pid);
  }
  found.erase(keeper);
  return {found.begin(), found.end()};
}

}  // namespace tony::keeper
