// torch.distributed's env:// variables, with those that torchrun and DeepSpeed's launcher set beside them (CROSS_RANK,
// CROSS_SIZE and LOCAL_SIZE are the latter's), and the INIT_METHOD, RANK and WORLD that TonY's examples read. TonY's
// RANK was the index within the role, so that two roles collided; here ranks count over the processes of all tracked
// tasks.
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

// Processes of all tracked tasks, and of those that come before one of them.
struct Ranks {
  int world = 0, before = 0;
};

Ranks CountRanks(const JobSpec& spec, const TaskId& task) {
  Ranks ranks;
  const int own = GlobalRank(spec, task);
  for (const RoleSpec& role : spec.roles) {
    if (role.completion != Completion::kTracked) continue;
    for (int i = 0; i < role.instances; ++i) {
      ranks.world += role.processes;
      if (GlobalRank(spec, {role.name, i}) < own) ranks.before += role.processes;
    }
  }
  return ranks;
}

// What torchrun calls a group, or node, is a task here: its processes share a machine.
void AddPlace(const JobSpec& spec, const TaskId& task, int process, const Ranks& ranks, Environment& environment) {
  const RoleSpec& role = *spec.FindRole(task.role);
  environment["RANK"] = StrCat(ranks.before + process);
  environment["LOCAL_RANK"] = StrCat(process);
  environment["LOCAL_WORLD_SIZE"] = StrCat(role.processes);
  environment["GROUP_RANK"] = StrCat(GlobalRank(spec, task));
  environment["GROUP_WORLD_SIZE"] = StrCat(spec.TrackedTasks());
  environment["CROSS_RANK"] = environment["GROUP_RANK"];
  environment["CROSS_SIZE"] = environment["GROUP_WORLD_SIZE"];
  environment["LOCAL_SIZE"] = environment["LOCAL_WORLD_SIZE"];
  environment["ROLE_NAME"] = task.role;
  environment["ROLE_RANK"] = StrCat(task.index * role.processes + process);
  environment["ROLE_WORLD_SIZE"] = StrCat(role.instances * role.processes);
}

Environment PyTorchEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process) {
  const Endpoint& leader = LeaderEndpoint(spec, cluster);
  const Ranks ranks = CountRanks(spec, task);
  Environment environment = {
      {"INIT_METHOD", StrCat("tcp://", ToString(leader))},
      {"MASTER_ADDR", leader.host},
      {"MASTER_PORT", StrCat(leader.port)},
      // What failures of the program may cost; lost nodes come on top of it.
      {"TORCHELASTIC_MAX_RESTARTS", StrCat(spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most)},
      {"TORCHELASTIC_RESTART_COUNT", StrCat(cluster.generation.value - 1)},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},  // rank 0 listens at MASTER_PORT itself
      {"WORLD", StrCat(ranks.world)},
      {"WORLD_SIZE", StrCat(ranks.world)},
  };
  // A task that is no member of the process group must not look like one.
  if (GlobalRank(spec, task) >= 0) AddPlace(spec, task, process, ranks, environment);
  return environment;
}

}  // namespace

const Framework& PytorchFramework() {
  static const Framework framework = {
      .check = [](const JobSpec&) { return Ok(); },
      .environment = PyTorchEnvironment,
      .variables = {"CROSS_RANK", "CROSS_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "INIT_METHOD", "LOCAL_RANK",
                    "LOCAL_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK", "ROLE_NAME", "ROLE_RANK",
                    "ROLE_WORLD_SIZE", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT",
                    "TORCHELASTIC_USE_AGENT_STORE", "WORLD", "WORLD_SIZE"},
      .smallest_scope = ScopeOfCollective,
      .several_processes = true};
  return framework;
}

}  // namespace tony
