#include "runtime/framework/frameworks.h"

#include <boost/json.hpp>
#include <map>

#include "runtime/base/strings.h"

// JAX reads the two coordinator addresses by itself; the program passes the process count and id on:
// jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]), process_id=...).
namespace tony {
namespace {

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

}  // namespace

const Framework& JaxFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); },
      JaxEnvironment,
      {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_BIND_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"},
      ScopeOfCollective};
  return framework;
}

// LightGBM's socket learner takes these as parameters: machines, num_machines and local_listen_port. Every machine
// finds itself in the list by its own addresses and its port, and its place there is its rank.

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

// torch.distributed's env:// variables, with those that torchrun and DeepSpeed's launcher set beside them (CROSS_RANK,
// CROSS_SIZE and LOCAL_SIZE are the latter's), and the INIT_METHOD, RANK and WORLD that TonY's examples read. TonY's
// RANK was the index within the role, so that two roles collided; here ranks count over the processes of all tracked
// tasks.

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

// One task that needs nobody, maybe with sidecars; in FCFS mode, as many as there are.

namespace {

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

}  // namespace

const Framework& StandaloneFramework() {
  static const Framework framework = {
      CheckOneTask,
      [](const JobSpec&, const ClusterSpec&, const TaskId&, int) { return Environment(); },
      {},
      [](const JobSpec&, const RoleSpec&, RestartScope) { return RestartScope::kTask; }};
  return framework;
}

// TF_CONFIG, as tf.distribute and Estimator read it, and CLUSTER_SPEC, TonY's plain map of role to host:port.

namespace json = boost::json;

namespace {

constexpr std::string_view kEvaluator = "evaluator";
constexpr std::string_view kTensorboard = "tensorboard";

json::array Addresses(const std::vector<Endpoint>& endpoints) {
  json::array list;
  for (const auto& endpoint : endpoints) list.emplace_back(ToString(endpoint));
  return list;
}

json::object AllRoles(const ClusterSpec& cluster) {
  json::object roles;
  for (const auto& [role, endpoints] : cluster.roles) roles[role] = Addresses(endpoints);
  return roles;
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
  return {{"CLUSTER_SPEC", json::serialize(AllRoles(cluster))}, {"TF_CONFIG", TfConfig(cluster, task)}};
}

RestartScope ScopeOfTensorFlow(const JobSpec& spec, const RoleSpec& role, RestartScope if_reachable) {
  if (role.name == kEvaluator) return RestartScope::kTask;
  const bool serves = role.name == "ps" || role.name == "chief";
  return spec.FindRole("ps") && !serves ? if_reachable : RestartScope::kGang;
}

}  // namespace

const Framework& TensorflowFramework() {
  static const Framework framework = {
      [](const JobSpec&) { return Ok(); }, TensorFlowEnvironment, {"CLUSTER_SPEC", "TF_CONFIG"}, ScopeOfTensorFlow};
  return framework;
}

// XGBoost's collective needs a tracker, which the one task of role "tracker" runs at the port that it has from us
// (xgboost.tracker.RabitTracker) and which ends by itself. The workers, all other tracked tasks, connect to it. The
// names are those of the arguments of xgboost.collective.CommunicatorContext, in capitals, to which a worker passes
// them.

namespace {

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

}  // namespace

const Framework& XgboostFramework() {
  static const Framework framework = {CheckTracker,
                                      XgBoostEnvironment,
                                      {"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI"},
                                      ScopeOfCollective,
                                      [](const JobSpec&, const TaskId& task) { return task.role == kTracker; }};
  return framework;
}

}  // namespace tony
