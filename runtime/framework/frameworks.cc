// The frameworks one after the other, each with a comment on what it reads, and their table.
#include "runtime/framework/frameworks.h"

#include <boost/json.hpp>
#include <map>

#include "runtime/base/strings.h"

namespace tony {
namespace {

namespace json = boost::json;

// JAX reads the two coordinator addresses by itself; the program passes the process count and id on:
// jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=...).

Environment JaxEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const std::string coordinator = ToString(LeaderEndpoint(spec, cluster));
  Environment environment = {
      {"JAX_COORDINATOR_ADDRESS", coordinator},
      {"JAX_NUM_PROCESSES", StrCat(spec.TrackedTasks())},
  };
  const int rank = GlobalRank(spec, task);
  if (rank >= 0) environment["JAX_PROCESS_ID"] = StrCat(rank);
  // JAX's own default is [::], which fails on hosts without IPv6 and listens to strangers elsewhere.
  if (rank == 0) environment["JAX_COORDINATOR_BIND_ADDRESS"] = coordinator;
  return environment;
}

// LightGBM's socket learner takes these as parameters: machines, num_machines and local_listen_port. Every machine
// finds itself in the list by its own addresses and its port, and its place there is its rank.

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

// torch.distributed's env:// variables, with those that torchrun and DeepSpeed's launcher set beside them (CROSS_RANK,
// CROSS_SIZE and LOCAL_SIZE are the latter's), and the INIT_METHOD, RANK and WORLD that TonY's examples read. TonY's
// RANK was the index within the role, so that two roles collided; here ranks count over the processes of all tracked
// tasks.

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

// One task that needs nobody, maybe with sidecars; in FCFS mode, as many as there are.

// Sidecars beside it do not count: TensorBoard is one.
Status CheckOneTask(const JobSpec& spec) {
  int count = 0;
  std::vector<std::string> counts;
  for (const auto& role : spec.roles) {
    if (role.completion == Completion::kSidecar) continue;
    count += role.instances;
    counts.push_back(StrCat(role.instances, " ", role.name));
  }
  if (count == 1) return Ok();
  return Error{ErrorCode::kInvalid,
               StrCat("framework standalone runs exactly one task, but the job has ", count, " (", Join(counts, ", "),
                      "); tasks that need nobody are run by "
                      "tony.application.distributed-mode=FCFS")};
}

constexpr std::string_view kEvaluator = "evaluator";
constexpr std::string_view kTensorboard = "tensorboard";

json::array Addresses(const std::vector<Endpoint>& endpoints) {
  json::array list;
  for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
  return list;
}

// TensorFlow would wait for every member of "cluster": TensorBoard never joins it, and an evaluator is no member of
// the training cluster, but insists on finding itself there.
json::object TrainingCluster(const ClusterSpec& cluster, const TaskId& task) {
  json::object roles;
  for (const auto& [role, endpoints] : cluster.roles) {
    const bool other_evaluator = role == kEvaluator && task.role != kEvaluator;
    if (role != kTensorboard && !other_evaluator) roles[role] = Addresses(endpoints);
  }
  return roles;
}

std::string TfConfig(const ClusterSpec& cluster, const TaskId& task) {
  json::object self;
  self["type"] = task.role;
  self["index"] = task.index;
  json::object config;
  config["cluster"] = TrainingCluster(cluster, task);
  config["task"] = std::move(self);
  return json::serialize(config);
}

Environment TensorFlowEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task, int) {
  json::object roles;
  for (const auto& [role, endpoints] : cluster.roles) roles[role] = Addresses(endpoints);
  return {{"CLUSTER_SPEC", json::serialize(roles)}, {"TF_CONFIG", TfConfig(cluster, task)}};
}

RestartScope ScopeOfTensorFlow(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable) {
  if (role.name == kEvaluator) return RestartScope::kTask;
  const bool serves = role.name == "ps" || role.name == "chief";
  return spec.FindRole("ps") && !serves ? if_reachable : RestartScope::kGang;
}

// XGBoost's collective needs a tracker, which the one task of role "tracker" runs at the port that it has from us
// (xgboost.tracker.RabitTracker) and which ends by itself. The workers, all other tracked tasks, connect to it. The
// names are those of the arguments of xgboost.collective.CommunicatorContext, in capitals, to which a worker passes
// them.

constexpr std::string_view kTracker = "tracker";

bool IsWorker(const RoleSpec& role) { return role.completion == Completion::kTracked && role.name != kTracker; }

int Workers(const JobSpec& spec) {
  int workers = 0;
  for (const auto& role : spec.roles) {
    if (IsWorker(role)) workers += role.instances;
  }
  return workers;
}

// Place among all workers, in the order of the spec; -1 for others.
int WorkerNumber(const JobSpec& spec, const TaskId& task) {
  int before = 0;
  for (const auto& role : spec.roles) {
    if (role.name == task.role) return IsWorker(role) ? before + task.index : -1;
    if (IsWorker(role)) before += role.instances;
  }
  return -1;
}

Status CheckTracker(const JobSpec& spec) {
  const RoleSpec* tracker = spec.FindRole(kTracker);
  if (!tracker || tracker->instances != 1) {
    return Error{
        ErrorCode::kInvalid,
        StrCat("framework xgboost needs exactly one task of role tracker, which runs XGBoost's tracker, but the "
               "job has ",
               tracker ? tracker->instances : 0, ": set tony.tracker.instances=1 and tony.tracker.command")};
  }
  if (Workers(spec) > 0) return Ok();
  return Error{ErrorCode::kInvalid, "framework xgboost needs a tracked role beside tracker, as worker"};
}

Environment XgBoostEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const Endpoint& tracker = EndpointOf(cluster, {std::string(kTracker), 0});
  Environment environment = {
      {"DMLC_NUM_WORKER", StrCat(Workers(spec))},
      {"DMLC_TRACKER_PORT", StrCat(tracker.port)},
      {"DMLC_TRACKER_URI", tracker.host},
  };
  if (const int number = WorkerNumber(spec, task); number >= 0) environment["DMLC_TASK_ID"] = StrCat(number);
  return environment;
}

// A framework with all that no other has yet: named ports, stages, published values, tasks of several processes. For
// tests of TonY itself; no property asks for it.
//
// The driver starts first, then ps, then everybody else; driver and ps publish ADDRESS. Every task has a port "data",
// the driver also "control". Where a task has several processes, each has a port: "process_0", "process_1", ...
//
//   STAGED_PORTS         its own: "control=4712,data=4713"
//   STAGED_DATA          where everybody's "data" is: "driver:0=host:4713,worker:0=host:4811"
//   STAGED_ADDRESSES     what the stages before have published: "driver:0=...,ps:0=..."
//   STAGED_RANK          of this process, among all processes of all tasks
//   STAGED_SIZE          how many these are
//   STAGED_PROCESS_PORT  of this process alone, where its task has several

constexpr std::string_view kDriver = "driver";
constexpr std::string_view kServer = "ps";

Status CheckStaged(const JobSpec& spec) {
  if (spec.FindRole(kDriver)) return Ok();
  return Error{ErrorCode::kInvalid, "framework staged needs the role driver"};
}

std::string PortOfProcess(int process) { return StrCat("process_", process); }

std::vector<std::string> StagedPorts(const JobSpec& spec, const TaskId& task) {
  std::vector<std::string> names = {"data"};
  if (task.role == kDriver) names.insert(names.begin(), "control");
  const int processes = spec.ProcessesOf(task.role);
  for (int i = 0; processes > 1 && i < processes; ++i) names.push_back(PortOfProcess(i));
  return names;
}

int StageOfRole(const JobSpec&, std::string_view role) { return role == kDriver ? 0 : role == kServer ? 1 : 2; }

std::vector<std::string> StagedValues(const JobSpec&, const TaskId& task) {
  if (task.role == kDriver || task.role == kServer) return {"ADDRESS"};
  return {};
}

// Roles and tasks in their order, of each task all processes.
void AddRanks(const ClusterSpec& cluster, const TaskId& task, int process, Environment& environment) {
  int before = 0;
  for (const auto& [role, endpoints] : cluster.roles) {
    const int processes = cluster.ProcessesOf(role);
    if (role == task.role) environment["STAGED_RANK"] = StrCat(before + task.index * processes + process);
    before += static_cast<int>(endpoints.size()) * processes;
  }
  environment["STAGED_SIZE"] = StrCat(before);
}

Environment StagedEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task, int process) {
  Environment environment;
  std::vector<std::string> own, data, addresses;
  for (const auto& [id, ports] : cluster.ports) {
    for (const auto& [name, port] : ports) {
      if (id == task) own.push_back(StrCat(name, "=", port));
      if (id == task && name == PortOfProcess(process)) environment["STAGED_PROCESS_PORT"] = StrCat(port);
      if (name == "data") data.push_back(StrCat(ToString(id), "=", EndpointOf(cluster, id).host, ":", port));
    }
  }
  for (const auto& [id, values] : cluster.values) {
    for (const auto& [name, value] : values) addresses.push_back(StrCat(ToString(id), "=", value));
  }
  environment["STAGED_ADDRESSES"] = Join(addresses, ",");
  environment["STAGED_DATA"] = Join(data, ",");
  environment["STAGED_PORTS"] = Join(own, ",");
  AddRanks(cluster, task, process, environment);
  return environment;
}

}  // namespace

// In the order of FrameworkKind.
const Framework& FrameworkOf(const JobSpec& spec) {
  static const Framework kFrameworks[] = {
      {.check = CheckOneTask,
       .environment = [](const JobSpec&, const ClusterSpec&, const TaskId&, int) { return Environment(); },
       .variables = {},
       .smallest_scope = [](const JobSpec&, const RoleSpec&, RestartScope) { return RestartScope::kTask; }},
      {.environment = TensorFlowEnvironment,
       .variables = {"CLUSTER_SPEC", "TF_CONFIG"},
       .smallest_scope = ScopeOfTensorFlow},
      {.environment = PyTorchEnvironment,
       .variables = {"CROSS_RANK", "CROSS_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "INIT_METHOD", "LOCAL_RANK",
                     "LOCAL_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK", "ROLE_NAME", "ROLE_RANK",
                     "ROLE_WORLD_SIZE", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RESTART_COUNT",
                     "TORCHELASTIC_USE_AGENT_STORE", "WORLD", "WORLD_SIZE"},
       .several_processes = true},
      {.environment = JaxEnvironment,
       .variables = {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_BIND_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"}},
      {.environment = LightGbmEnvironment,
       .variables = {"LIGHTGBM_LOCAL_LISTEN_PORT", "LIGHTGBM_MACHINES", "LIGHTGBM_NUM_MACHINES", "LIGHTGBM_RANK"},
       .binds_port_alone = [](const JobSpec& job, const TaskId& task) { return GlobalRank(job, task) >= 0; }},
      {.check = CheckTracker,
       .environment = XgBoostEnvironment,
       .variables = {"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI"},
       .binds_port_alone = [](const JobSpec&, const TaskId& task) { return task.role == kTracker; }},
      {.check = CheckStaged,
       .environment = StagedEnvironment,
       .variables = {"STAGED_ADDRESSES", "STAGED_DATA", "STAGED_PORTS", "STAGED_PROCESS_PORT", "STAGED_RANK",
                     "STAGED_SIZE"},
       .smallest_scope = [](const JobSpec&, const RoleSpec&, RestartScope if_reachable) { return if_reachable; },
       .port_names = StagedPorts,
       .stage = StageOfRole,
       .value_names = StagedValues,
       .several_processes = true},
  };
  return kFrameworks[static_cast<size_t>(spec.framework)];
}

}  // namespace tony
