// LightGBM's socket learner takes these as parameters: machines, num_machines and local_listen_port. Every machine
// finds itself in the list by its own addresses and its port, and its place there is its rank.
#include <map>

#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

// By rank: all tracked tasks.
std::map<int, std::string> Machines(const JobSpec& spec, const ClusterSpec& cluster) {
  std::map<int, std::string> machines;
  for (const auto& [role, endpoints] : cluster.roles) {
    for (size_t i = 0; i < endpoints.size(); ++i) {
      const int rank = GlobalRank(spec, {role, static_cast<int>(i)});
      if (rank >= 0) machines[rank] = ToString(endpoints[i]);
    }
  }
  return machines;
}

Environment LightGbmEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  std::vector<std::string> machines;
  for (const auto& [rank, machine] : Machines(spec, cluster)) machines.push_back(machine);
  Environment environment = {
      {"LIGHTGBM_MACHINES", Join(machines, ",")},
      {"LIGHTGBM_NUM_MACHINES", StrCat(machines.size())},
  };
  // A task that is not in the list must not look like one that is.
  if (const int rank = GlobalRank(spec, task); rank >= 0) {
    environment["LIGHTGBM_LOCAL_LISTEN_PORT"] = StrCat(EndpointOf(cluster, task).port);
    environment["LIGHTGBM_RANK"] = StrCat(rank);
  }
  return environment;
}

}  // namespace

const Framework& LightgbmFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); },
      LightGbmEnvironment,
      {"LIGHTGBM_LOCAL_LISTEN_PORT", "LIGHTGBM_MACHINES", "LIGHTGBM_NUM_MACHINES", "LIGHTGBM_RANK"},
      ScopeOfCollective,
      [](const JobSpec& spec, const TaskId& task) { return GlobalRank(spec, task) >= 0; }};
  return framework;
}

}  // namespace tony
