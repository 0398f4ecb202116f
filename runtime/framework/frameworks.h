// The frameworks, and what each of them needs. framework.cc adds what all have in common.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/framework/framework.h"

namespace tony {

// For SmallestScope(): where the tracked tasks are one collective, which cannot take a member back.
RestartScope ScopeOfCollective(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable);

struct Framework {
  using Names = std::vector<std::string> (*)(const JobSpec& spec, const TaskId& task);
  Status (*check)(const JobSpec& spec) = [](const JobSpec&) { return Ok(); };
  Environment (*environment)(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process);
  std::vector<std::string_view> variables;  // every name that `environment` may return
  // For SmallestScope(), of a role that is no sidecar, in GANG mode. `if_reachable`: of tasks to which the others can
  // connect again.
  RestartScope (*smallest_scope)(const JobSpec& spec, const RoleSpec& role,
                                 RestartScope if_reachable) = ScopeOfCollective;
  bool (*binds_port_alone)(const JobSpec& spec, const TaskId& task) = nullptr;  // null: no task's process does
  Names port_names = nullptr;                                                   // null: no task has others than its own
  int (*stage)(const JobSpec& spec, std::string_view role) = nullptr;           // null: all start together
  Names value_names = nullptr;                                                  // null: no task publishes any
  bool several_processes = false;                                               // whether a task may have them
};

const Framework& FrameworkOf(const JobSpec& spec);

// Where the task with rank 0 listens; the cluster spec holds every task of the job.
const Endpoint& LeaderEndpoint(const JobSpec& spec, const ClusterSpec& cluster);
const Endpoint& EndpointOf(const ClusterSpec& cluster, const TaskId& task);

}  // namespace tony
