// The table of the frameworks, with the functions that each of them needs. framework.cc adds the parts that all
// frameworks have in common.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/framework/framework.h"

namespace tony {

// The function `smallest_scope` of frameworks whose tracked tasks form one collective, which cannot accept a restarted
// member.
RestartScope ScopeOfCollective(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable);

struct Framework {
  using Names = std::vector<std::string> (*)(const JobSpec& spec, const TaskId& task);
  Status (*check)(const JobSpec& spec) = [](const JobSpec&) { return Ok(); };
  Environment (*environment)(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process);
  std::vector<std::string_view> variables;  // every name that `environment` may return
  // Returns SmallestScope() for a role that is not a sidecar, in GANG mode. `if_reachable` is the scope for tasks to
  // which the other tasks can reconnect.
  RestartScope (*smallest_scope)(const JobSpec& spec, const RoleSpec& role,
                                 RestartScope if_reachable) = ScopeOfCollective;
  bool (*binds_port_alone)(const JobSpec& spec, const TaskId& task) = nullptr;  // null: false for all tasks
  Names port_names = nullptr;                                                   // null: no additional ports
  int (*stage)(const JobSpec& spec, std::string_view role) = nullptr;           // null: all roles start together
  Names value_names = nullptr;                                                  // null: tasks publish no values
  // True if a task may have several processes.
  bool several_processes = false;
};

const Framework& FrameworkOf(const JobSpec& spec);

// Returns the endpoint of the task with rank 0. The cluster spec must contain every task of the job.
const Endpoint& LeaderEndpoint(const JobSpec& spec, const ClusterSpec& cluster);
const Endpoint& EndpointOf(const ClusterSpec& cluster, const TaskId& task);

}  // namespace tony
