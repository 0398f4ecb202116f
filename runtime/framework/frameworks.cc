// The frameworks one after the other, each with a comment on the variables that it reads, and their table.
#include "runtime/framework/frameworks.h"

#include <arpa/inet.h>

#include <boost/json.hpp>
#include <map>

#include "runtime/base/strings.h"
#include "runtime/framework/horovod.h"

namespace tony {
namespace {

namespace json = boost::json;

// ---- JAX reads the two coordinator addresses by itself. The program passes on the number of processes and its own id:
// jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=...).

Environment JaxEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  const std::string coordinator = ToString(LeaderEndpoint(spec, cluster));
  Environment environment = {
      {"JAX_COORDINATOR_ADDRESS", coordinator},
      {"JAX_NUM_PROCESSES", StrCat(spec.TrackedTasks())},
  };
  const int rank = GlobalRank(spec, task);
  if (rank >= 0) environment["JAX_PROCESS_ID"] = StrCat(rank);
  // JAX's own default is [::], which fails on hosts without IPv6. On all other hosts, this default accepts connections
  // from any network. The coordinator therefore binds to its own address.
  if (rank == 0) environment["JAX_COORDINATOR_BIND_ADDRESS"] = coordinator;
  return environment;
}

// ---- LightGBM's socket learner takes the values of these variables as its parameters machines, num_machines and
// local_listen_port. Each machine finds itself in the list by its own addresses and its port. Its place in the list is
// its rank.

// Returns the addresses of all tracked tasks by their ranks.
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
  // A task that is not in the list gets no port and no rank, because programs would take it for a member.
  if (const int rank = GlobalRank(spec, task); rank >= 0) {
    environment["LIGHTGBM_LOCAL_LISTEN_PORT"] = StrCat(EndpointOf(cluster, task).port);
    environment["LIGHTGBM_RANK"] = StrCat(rank);
  }
  return environment;
}

// ---- MXNet's parameter server (ps-lite) reads DMLC_*. Importing mxnet turns a task of role scheduler or server into a
// service, which ends by itself after the workers.

constexpr std::string_view kMxnetRoles[] = {"scheduler", "server", "worker"};

bool IsMxnetRole(std::string_view role) { return std::ranges::find(kMxnetRoles, role) != std::end(kMxnetRoles); }

int InstancesOf(const JobSpec& spec, std::string_view name) {
  const RoleSpec* role = spec.FindRole(name);
  return role ? role->instances : 0;
}

Status CheckMxnet(const JobSpec& spec) {
  if (InstancesOf(spec, "scheduler") == 1 && InstancesOf(spec, "server") > 0 && InstancesOf(spec, "worker") > 0)
    return Ok();
  return Error{ErrorCode::kInvalid, StrCat("framework mxnet needs 1 scheduler, and at least 1 server and 1 worker, but "
                                           "the job has ",
                                           InstancesOf(spec, "scheduler"), " scheduler, ", InstancesOf(spec, "server"),
                                           " server and ", InstancesOf(spec, "worker"),
                                           " worker; set tony.scheduler.instances=1, tony.server.instances and "
                                           "tony.worker.instances")};
}

bool IsNumericAddress(const std::string& host) {
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

// MXNet can listen at a numeric address, but not at a name. Without DMLC_NODE_HOST it listens at the address of the
// first network device, or of the one that the user names in DMLC_INTERFACE.
Environment MxnetEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int) {
  if (!IsMxnetRole(task.role)) return {};
  const Endpoint& scheduler = EndpointOf(cluster, {"scheduler", 0});
  const std::string& host = EndpointOf(cluster, task).host;
  Environment environment = {{"DMLC_LOCAL", "0"},
                             {"DMLC_NUM_SERVER", StrCat(InstancesOf(spec, "server"))},
                             {"DMLC_NUM_WORKER", StrCat(InstancesOf(spec, "worker"))},
                             {"DMLC_PS_ROOT_PORT", StrCat(scheduler.port)},
                             {"DMLC_PS_ROOT_URI", scheduler.host},
                             {"DMLC_ROLE", task.role}};
  if (IsNumericAddress(host)) environment["DMLC_NODE_HOST"] = host;
  return environment;
}

// ---- Ray. The only task of role head starts Ray's head node and then runs the job's program, which calls ray.init().
// The tasks of all other roles are further nodes (runtime/spec/framework_commands.cc). A restarted node joins again.

constexpr std::string_view kRayHead = "head";

Status CheckRay(const JobSpec& spec) {
  const RoleSpec* head = spec.FindRole(kRayHead);
  if (head && head->instances == 1 && head->completion == Completion::kTracked) return Ok();
  return Error{ErrorCode::kInvalid,
               StrCat("framework ray needs exactly one tracked task of role head, which runs the job's program, but "
                      "the job has ",
                      head ? head->instances : 0, "; set tony.head.instances=1")};
}

Environment RayEnvironment(const JobSpec&, const ClusterSpec& cluster, const TaskId& task, int) {
  const Endpoint& head = EndpointOf(cluster, {std::string(kRayHead), 0});
  return {{"RAY_ADDRESS", ToString(head)},
          {"RAY_HEAD_HOST", head.host},
          {"RAY_HEAD_PORT", StrCat(head.port)},
          {"RAY_NODE_HOST", EndpointOf(cluster, task).host}};
}

// ---- PyTorch. A task gets the variables of torch.distributed's env://, the variables that torchrun and DeepSpeed's
// launcher set in addition (CROSS_RANK, CROSS_SIZE and LOCAL_SIZE are DeepSpeed's), and INIT_METHOD, RANK and WORLD,
// which TonY's examples read. In LinkedIn's TonY, RANK was the index within the role, so two roles had the same ranks.
// In this TonY, ranks count over the processes of all tracked tasks.

// The number of processes of all tracked tasks, and of the tracked tasks before a given one.
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

// Adds the variables of one process of a tracked task. A task corresponds to torchrun's group, which is a node, because
// the processes of a task share a machine.
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
      // The value is the number of restarts that failures of the program may cause. Restarts after the loss of a node
      // are not counted.
      {"TORCHELASTIC_MAX_RESTARTS", StrCat(spec.restart.levels[static_cast<size_t>(RestartScope::kGang)].most)},
      {"TORCHELASTIC_RESTART_COUNT", StrCat(cluster.generation.value - 1)},
      {"TORCHELASTIC_USE_AGENT_STORE", "False"},  // rank 0 listens at MASTER_PORT itself
      {"WORLD", StrCat(ranks.world)},
      {"WORLD_SIZE", StrCat(ranks.world)},
  };
  // A task outside the process group gets no rank, because programs would take it for a member.
  if (GlobalRank(spec, task) >= 0) AddPlace(spec, task, process, ranks, environment);
  return environment;
}

// ---- Standalone. The job has one task, which needs no other task, and possibly sidecars. In FCFS mode any number of
// tasks is allowed.

// Checks that the job has exactly one task. Sidecars such as TensorBoard do not count.
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
                      "); for independent tasks set tony.application.distributed-mode=FCFS")};
}

constexpr std::string_view kEvaluator = "evaluator";
constexpr std::string_view kTensorboard = "tensorboard";

json::array Addresses(const std::vector<Endpoint>& endpoints) {
  json::array list;
  for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
  return list;
}

// Returns the members of "cluster". TensorFlow waits for every member. TensorBoard never joins, so it is left out. An
// evaluator is not a member of the training cluster but expects to find itself there, so only evaluators see the
// evaluator role.
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

// ---- XGBoost's collective needs a tracker (xgboost.tracker.RabitTracker). The only task of role "tracker" runs the
// tracker at the port that TonY has given to the task; the tracker ends by itself. The workers, which are all other
// tracked tasks, connect to the tracker. The variables are named like the arguments of
// xgboost.collective.CommunicatorContext, in capitals. A worker passes the variables on to this class.

constexpr std::string_view kTracker = "tracker";

bool IsWorker(const RoleSpec& role) { return role.completion == Completion::kTracked && role.name != kTracker; }

int Workers(const JobSpec& spec) {
  int workers = 0;
  for (const auto& role : spec.roles) {
    if (IsWorker(role)) workers += role.instances;
  }
  return workers;
}

// Returns the position of the task among all workers in the order of the spec; -1 for other tasks.
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
  return Error{ErrorCode::kInvalid, "framework xgboost needs a tracked role besides tracker, e.g. worker"};
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

// ---- Staged: a framework with all features that no other framework has yet: named ports, stages, published values,
// tasks with several processes. It exists for tests of TonY itself; no property can request it.
//
// The driver starts first, then ps, then all other roles; driver and ps publish ADDRESS. Every task has a port "data",
// the driver also has "control". If a task has several processes, each has a port: "process_0", "process_1", ...
//
//   STAGED_PORTS         the ports of the task: "control=4712,data=4713"
//   STAGED_DATA          the "data" ports of all tasks: "driver:0=host:4713,worker:0=host:4811"
//   STAGED_ADDRESSES     values that earlier stages have published: "driver:0=...,ps:0=..."
//   STAGED_RANK          rank of this process among all processes of all tasks
//   STAGED_SIZE          number of all processes of all tasks
//   STAGED_PROCESS_PORT  port of this process alone, if its task has several processes

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

// Ranks follow the order of the roles, then of the tasks, then of the processes of a task.
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

// The rows are in the order of FrameworkKind.
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
      {.check = CheckHorovod,
       .environment = HorovodEnvironment,
       .variables = {"CLUSTER_WORKER_LIST", "HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_CROSS_RANK",
                     "HOROVOD_CROSS_SIZE", "HOROVOD_GLOO_RENDEZVOUS_ADDR", "HOROVOD_GLOO_RENDEZVOUS_PORT",
                     "HOROVOD_GLOO_TIMEOUT_SECONDS", "HOROVOD_HOSTNAME", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
                     "HOROVOD_RANK", "HOROVOD_SIZE"},
       .stage = [](const JobSpec&, std::string_view role) { return role == kHorovodDriver ? 0 : 1; },
       .value_names =
           [](const JobSpec&, const TaskId& task) {
             return task.role == kHorovodDriver ? std::vector{std::string(kHorovodPlan)} : std::vector<std::string>();
           }},
      {.check = CheckMxnet,
       .environment = MxnetEnvironment,
       .variables = {"DMLC_LOCAL", "DMLC_NODE_HOST", "DMLC_NUM_SERVER", "DMLC_NUM_WORKER", "DMLC_PS_ROOT_PORT",
                     "DMLC_PS_ROOT_URI", "DMLC_ROLE"},
       // The servers have the weights in their memory.
       .smallest_scope = [](const JobSpec& job, const RoleSpec& role, RestartScope if_reachable) {
         return IsMxnetRole(role.name) ? RestartScope::kGang : ScopeOfCollective(job, role, if_reachable);
       }},
      {.check = CheckRay,
       .environment = RayEnvironment,
       .variables = {"RAY_ADDRESS", "RAY_HEAD_HOST", "RAY_HEAD_PORT", "RAY_NODE_HOST"},
       .smallest_scope = [](const JobSpec&, const RoleSpec& role, RestartScope) {
         return role.name == kRayHead ? RestartScope::kGang : RestartScope::kTask;
       },
       .stage = [](const JobSpec&, std::string_view role) { return role == kRayHead ? 0 : 1; },
       .value_names =
           [](const JobSpec&, const TaskId& task) {
             return task.role == kRayHead ? std::vector{std::string(kReadyValue)} : std::vector<std::string>();
           }},
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
