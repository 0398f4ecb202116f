#include "runtime/framework/framework.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"
#include "runtime/job/cluster_spec.h"

namespace tony {
namespace {

// The variables that the executor sets: TONY_*, which programs may rely on, and JOB_ID, NUM_AM_RETRIES and TB_PORT,
// which TonY's tasks had.
constexpr std::string_view kOwnVariables[] = {"JOB_ID",
                                              "NUM_AM_RETRIES",
                                              "TB_PORT",
                                              "TONY_ATTEMPT",
                                              "TONY_CHECKPOINT_DIR",
                                              "TONY_CONTAINER",
                                              "TONY_ERROR_FILE",
                                              "TONY_GENERATION",
                                              "TONY_HOSTFILE",
                                              "TONY_JOB_ID",
                                              "TONY_NOTICE_FILE",
                                              "TONY_OUTPUT_FILE",
                                              "TONY_PARAMETERS",
                                              "TONY_PROCESS_COUNT",
                                              "TONY_PROCESS_INDEX",
                                              "TONY_PUBLISH_FILE",
                                              "TONY_RESUME_FROM",
                                              "TONY_TASK"};

// The variables that TonY gave to every task of any framework.
constexpr std::string_view kCommonVariables[] = {"DISTRIBUTED_MODE", "IS_CHIEF",   "JOB_NAME",
                                                 "SESSION_ID",       "TASK_INDEX", "TASK_NUM"};

constexpr std::string_view kPreprocessing = "PREPROCESSING_JOB";

// The scheduler sets these variables for the GPUs of the task. A job that requests no GPUs may set them itself.
constexpr std::string_view kGpuVariables[] = {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"};

// In FCFS mode tasks do not know each other when they start, so a framework cannot connect them. In this mode,
// LinkedIn's TonY gave tensorflow tasks only the common variables, and pytorch tasks an address that possibly did not
// exist yet.
constexpr std::string_view kMaxParallel = "max-parallel";

// A role that runs a part of its tasks at a time cannot meet what other tasks expect of all its tasks together.
Status CheckMaxParallel(const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    if (role.max_parallel != 0 && spec.mode != DistributedMode::kFcfs)
      return InvalidError(role.Key(kMaxParallel), ": the tasks of mode ", ToString(spec.mode),
                          " start together; for independent tasks set tony.application.distributed-mode to FCFS");
    if (role.max_parallel != 0 && IsAwaited(spec, role.name, Dependency::Until::kReady))
      return InvalidError(role.Key(kMaxParallel), ": another role waits until all tasks of ", role.name,
                          " are ready, and the tasks do not run at the same time; remove one of the two");
    const bool restarts_others = role.restart_scope && *role.restart_scope > RestartScope::kRole;
    const bool restarts_role = role.max_parallel != 0 && role.restart_scope == RestartScope::kRole;
    if (spec.HasMaxParallel() && (restarts_others || restarts_role))
      return InvalidError("restart scope ", ToString(*role.restart_scope), " of role ", role.name, ": a role with ",
                          kMaxParallel, " restarts only single tasks; set the scope to task");
  }
  return Ok();
}

Status CheckFcfs(const JobSpec& spec) {
  if (spec.framework == FrameworkKind::kTensorflow || spec.framework == FrameworkKind::kStandalone) return Ok();
  return Error{
      ErrorCode::kInvalid,
      StrCat("tony.application.distributed-mode FCFS: framework ", ToString(spec.framework),
             " needs tasks that start together; expected GANG, or framework standalone for independent tasks")};
}

Environment CommonEnvironment(const JobSpec& spec, const TaskId& task) {
  Environment environment = {
      {"DISTRIBUTED_MODE", std::string(ToString(spec.mode))},
      {"JOB_NAME", task.role},
      {"SESSION_ID", "0"},  // the same constant as in TonY
      {"TASK_INDEX", StrCat(task.index)},
      {"TASK_NUM", StrCat(spec.TrackedTasks() - (HasPreprocess(spec) ? 1 : 0))},
  };
  if (spec.IsChief(task)) environment["IS_CHIEF"] = "true";
  return environment;
}

// Returns an error if the environment sets a reserved variable. `ways` are the ways to set a variable, without its name
// at the end, e.g. "-shell_env ".
Status CheckNotReserved(const std::map<std::string, std::string>& environment, const std::vector<std::string>& ways,
                        const std::vector<std::string>& reserved) {
  for (const auto& [name, value] : environment) {
    if (!std::ranges::binary_search(reserved, name)) continue;
    std::vector<std::string> named;
    for (const std::string& way : ways) named.push_back(way + name);
    return Error{ErrorCode::kInvalid,
                 StrCat(Join(named, ", "), ": TonY itself sets this variable in every task; choose another name")};
  }
  return Ok();
}

std::vector<std::string> NamesOf(const TaskId& task, const JobSpec& spec, Framework::Names names) {
  return names && spec.mode == DistributedMode::kGang ? names(spec, task) : std::vector<std::string>();
}

Status CheckValues(const JobSpec& spec) {
  size_t all = 0;
  for (const RoleSpec& role : spec.roles) {
    all += ValueNames(spec, {role.name, 0}).size() * static_cast<size_t>(role.instances);
    if (role.completion == Completion::kSidecar && !AwaitedValues(spec, {role.name, 0}).empty()) {
      return Error{ErrorCode::kInvalid,
                   StrCat("role ", role.name,
                          ": a sidecar cannot publish values for which other roles wait; expected a tracked role")};
    }
  }
  if (all <= kMostPublishedValuesOfJob) return Ok();
  return Error{ErrorCode::kInvalid, StrCat("framework ", ToString(spec.framework), ": the tasks of this job publish ",
                                           all, " values, expected at most ", kMostPublishedValuesOfJob)};
}

Status CheckProcesses(const JobSpec& spec) {
  for (const RoleSpec& role : spec.roles) {
    if (role.processes == 1 || FrameworkOf(spec).several_processes) continue;
    return Error{ErrorCode::kInvalid,
                 StrCat(role.Key("nproc-per-node"), "=", role.processes, ": framework ", ToString(spec.framework),
                        " supports only one process for each task; expected 1, or framework pytorch")};
  }
  return Ok();
}

bool HasDependencies(const JobSpec& spec) {
  return std::ranges::any_of(spec.roles, [](const RoleSpec& role) { return !role.depends_on.empty(); });
}

// Checks a job with dependencies. The framework connects the roles that run at the same time as if they were a separate
// job, so all of these roles must be connected to the same roles. A role whose success other roles wait for is not
// checked, because it prepares data for them. If the framework cannot connect such a role, the role gets no variables
// of the framework.
Status CheckTogether(const JobSpec& spec) {
  const auto tracked = [](const JobSpec& with) {
    std::vector<std::string> names;
    for (const RoleSpec& role : with.roles)
      if (role.completion == Completion::kTracked) names.push_back(role.name);
    return names;
  };
  const Framework& framework = FrameworkOf(spec);
  if (framework.stage) {
    return Error{ErrorCode::kInvalid,
                 StrCat("framework ", ToString(spec.framework),
                        " defines the order in which roles start; remove stages, depends-on and preprocessing")};
  }
  for (const RoleSpec& role : spec.roles) {
    if (IsAwaited(spec, role.name, Dependency::Until::kSucceeded)) continue;
    const JobSpec with = ConcurrentRoles(spec, role.name);
    TRY(framework.check(with));
    for (const std::string& other : tracked(with)) {
      if (role.completion != Completion::kTracked || spec.framework == FrameworkKind::kTensorflow) continue;
      if (tracked(ConcurrentRoles(spec, other)) == tracked(with)) continue;
      return Error{
          ErrorCode::kInvalid,
          StrCat("framework ", ToString(spec.framework), " connects all tasks that run at the same time, but roles ",
                 role.name, " and ", other, " would be connected to different tasks; set ", role.Key("depends-on"),
                 " and ", spec.FindRole(other)->Key("depends-on"), " to the same roles")};
    }
  }
  return Ok();
}

// As in TonY, the preprocessing task gets PREPROCESSING_JOB, and all other tasks get the parameters that it has
// published.
Environment PreprocessEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task) {
  if (IsPreprocess(*spec.FindRole(task.role))) return {{std::string(kPreprocessing), "true"}};
  const auto published = cluster.values.find({std::string(kPreprocess), 0});
  if (published == cluster.values.end() || !published->second.contains(std::string(kModelParams))) return {};
  return {{std::string(kModelParams), published->second.at(std::string(kModelParams))}};
}

// Returns the name of the variable with the READY values of a role. A program finds the variable if its task waited for
// the role. The values are in the order of the tasks.
std::string ReadyVariable(std::string_view role) {
  std::string name = StrCat("TONY_READY_", role);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  return name;
}

std::string ReadyValues(const ClusterSpec& cluster, const std::string& role) {
  std::vector<std::string> values;
  for (const auto& [task, published] : cluster.values) {
    const auto value = published.find(std::string(kReadyValue));
    if (task.role == role && value != published.end()) values.push_back(value->second);
  }
  return Join(values, ",");
}

// Returns the position of the task among the tracked tasks in the order of the spec; -1 for a task that is not tracked.
int TrackedPosition(const JobSpec& spec, const TaskId& task) {
  int position = 0;
  for (const auto& role : spec.roles) {
    const bool tracked = role.completion == Completion::kTracked;
    if (role.name == task.role) return tracked ? position + task.index : -1;
    if (tracked) position += role.instances;
  }
  return -1;
}

}  // namespace

Status CheckFramework(const JobSpec& spec) {
  TRY(CheckProcesses(spec));
  TRY(CheckMaxParallel(spec));
  if (spec.mode == DistributedMode::kFcfs) return CheckFcfs(spec);
  TRY(HasDependencies(spec) ? CheckTogether(spec) : FrameworkOf(spec).check(spec));
  return CheckValues(spec);
}

Environment FrameworkEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const TaskId& task, int process) {
  Environment environment = CommonEnvironment(spec, task);
  const Framework& framework = FrameworkOf(spec);
  if (!HasDependencies(spec)) {
    if (spec.mode == DistributedMode::kGang) environment.merge(framework.environment(spec, cluster, task, process));
    return environment;
  }
  const RoleSpec& role = *spec.FindRole(task.role);
  for (const auto& [other, until] : role.depends_on)
    if (until == Dependency::Until::kReady) environment[ReadyVariable(other)] = ReadyValues(cluster, other);
  if (HasPreprocess(spec)) environment.merge(PreprocessEnvironment(spec, cluster, task));
  if (IsPreprocess(role)) return environment;
  const auto [with, known] = Together(spec, cluster, task.role);
  const bool wired = spec.mode == DistributedMode::kFcfs ? !known.roles.empty()
                                                         : with.TrackedTasks() > 0 && framework.check(with).ok();
  if (wired) environment.merge(framework.environment(with, known, task, process));
  return environment;
}

std::pair<JobSpec, ClusterSpec> Together(const JobSpec& spec, const ClusterSpec& cluster, const std::string& role) {
  JobSpec with = ConcurrentRoles(spec, role);
  std::erase_if(with.roles, [&](const RoleSpec& other) { return !cluster.roles.contains(other.name); });
  ClusterSpec known = cluster;
  const auto is_other = [&](const std::string& name) { return !with.FindRole(name); };
  std::erase_if(known.roles, [&](const auto& roles) { return is_other(roles.first); });
  std::erase_if(known.processes, [&](const auto& processes) { return is_other(processes.first); });
  std::erase_if(known.ports, [&](const auto& ports) { return is_other(ports.first.role); });
  return {std::move(with), std::move(known)};
}

bool BindsPortExclusively(const JobSpec& spec, const TaskId& task) {
  const auto binds_port_alone = FrameworkOf(spec).binds_port_alone;
  return binds_port_alone && binds_port_alone(spec, task);
}

bool ServesTensorBoard(const JobSpec& spec, const TaskId& task) {
  if (spec.FindRole(kTensorBoardPort)) return task == TaskId{std::string(kTensorBoardPort), 0};
  if (spec.framework == FrameworkKind::kStandalone) return spec.roles.size() == 1 && !spec.roles[0].key_prefix.empty();
  return spec.IsChief(task);
}

std::vector<std::string> PortNames(const JobSpec& spec, const TaskId& task) {
  std::vector<std::string> names = NamesOf(task, spec, FrameworkOf(spec).port_names);
  if (ServesTensorBoard(spec, task) || task == TaskId{std::string(kNotebookRole), 0})
    names.emplace_back(kTensorBoardPort);
  return names;
}

int StageOf(const JobSpec& spec, std::string_view role) {
  const auto stage = FrameworkOf(spec).stage;
  return stage && spec.mode == DistributedMode::kGang ? stage(spec, role) : 0;
}

std::vector<std::string> ValueNames(const JobSpec& spec, const TaskId& task) {
  std::vector<std::string> names = NamesOf(task, spec, FrameworkOf(spec).value_names);
  if (IsAwaited(spec, task.role, Dependency::Until::kReady)) names.emplace_back(kReadyValue);
  if (const RoleSpec* role = spec.FindRole(task.role); role && IsPreprocess(*role)) names.emplace_back(kModelParams);
  return names;
}

std::vector<std::string> AwaitedValues(const JobSpec& spec, const TaskId& task) {
  std::vector<std::string> names;
  const int stage = StageOf(spec, task.role);
  const bool is_before_others =
      std::ranges::any_of(spec.roles, [&](const RoleSpec& role) { return stage < StageOf(spec, role.name); });
  if (is_before_others) names = NamesOf(task, spec, FrameworkOf(spec).value_names);
  if (IsAwaited(spec, task.role, Dependency::Until::kReady)) names.emplace_back(kReadyValue);
  return names;
}

std::vector<std::string> ReservedVariables(const JobSpec& spec) {
  std::vector<std::string> names(std::begin(kOwnVariables), std::end(kOwnVariables));
  names.insert(names.end(), std::begin(kCommonVariables), std::end(kCommonVariables));
  if (HasPreprocess(spec)) names.insert(names.end(), {std::string(kPreprocessing), std::string(kModelParams)});
  for (const RoleSpec& role : spec.roles)
    if (IsAwaited(spec, role.name, Dependency::Until::kReady)) names.push_back(ReadyVariable(role.name));
  if (spec.mode == DistributedMode::kGang || HasDependencies(spec)) {
    const auto& variables = FrameworkOf(spec).variables;
    names.insert(names.end(), variables.begin(), variables.end());
  }
  if (spec.RequestsGpus()) names.insert(names.end(), std::begin(kGpuVariables), std::end(kGpuVariables));
  std::ranges::sort(names);
  return names;
}

Status CheckEnvironment(const JobSpec& spec, const std::map<std::string, std::string>& secrets) {
  const auto reserved = ReservedVariables(spec);
  TRY(CheckNotReserved(spec.execution_env, {"worker_env.", "-shell_env ", "tony.execution.env."}, reserved));
  TRY(CheckNotReserved(spec.container_env, {"-container_env ", "tony.containers.env."}, reserved));
  return CheckNotReserved(secrets, {"secrets."}, reserved);
}

int GlobalRank(const JobSpec& spec, const TaskId& task) {
  const int position = TrackedPosition(spec, task);
  const TaskId chief{spec.ChiefRole(), 0};
  const int chief_position = TrackedPosition(spec, chief);
  if (position == chief_position && task == chief) return position < 0 ? -1 : 0;
  return position >= 0 && position < chief_position ? position + 1 : position;
}

const Endpoint& EndpointOf(const ClusterSpec& cluster, const TaskId& task) {
  const auto role = cluster.roles.find(task.role);
  CHECK(role != cluster.roles.end() && static_cast<size_t>(task.index) < role->second.size());
  return role->second[static_cast<size_t>(task.index)];
}

const Endpoint& LeaderEndpoint(const JobSpec& spec, const ClusterSpec& cluster) {
  for (const auto& [role, endpoints] : cluster.roles) {
    for (size_t i = 0; i < endpoints.size(); ++i) {
      if (GlobalRank(spec, {role, static_cast<int>(i)}) == 0) return endpoints[i];
    }
  }
  CHECK(!"a cluster spec without the leader");
}

std::string Hostfile(const JobSpec& spec, const ClusterSpec& cluster) {
  std::map<int, std::string_view> by_rank;
  std::map<std::string_view, int> slots;
  for (const RoleSpec& role : spec.roles) {
    const auto found = cluster.roles.find(role.name);
    if (found == cluster.roles.end() || role.completion != Completion::kTracked) continue;
    for (size_t i = 0; i < found->second.size(); ++i) {
      const std::string& host = found->second[i].host;
      by_rank[GlobalRank(spec, {role.name, static_cast<int>(i)})] = host;
      const int of_machine = role.resources.gpus > 0 ? role.resources.gpus : role.resources.vcores;
      slots[host] += std::max(of_machine, role.processes);
    }
  }
  std::string text;
  for (const auto& [rank, host] : by_rank) {
    if (const auto left = slots.extract(host)) text += StrCat(host, " slots=", left.mapped(), "\n");
  }
  return text;
}

RestartScope SmallestScope(const JobSpec& spec, const RoleSpec& role, bool same_address) {
  if (role.completion == Completion::kSidecar || spec.mode == DistributedMode::kFcfs) return RestartScope::kTask;
  if (!AwaitedValues(spec, {role.name, 0}).empty()) return RestartScope::kGang;
  return FrameworkOf(spec).smallest_scope(spec, role, same_address ? RestartScope::kTask : RestartScope::kGang);
}

RestartScope ScopeOfCollective(const JobSpec&, const RoleSpec& role, RestartScope if_reachable) {
  return role.completion == Completion::kTracked ? RestartScope::kGang : if_reachable;
}

std::vector<std::string> ScopeWarnings(const JobSpec& spec) {
  std::vector<std::string> warnings;
  for (const RestartScope scope : {RestartScope::kGang, RestartScope::kJob})
    if (spec.HasMaxParallel() && spec.restart.levels[static_cast<size_t>(scope)].most > 0)
      warnings.push_back(StrCat("restarts of the ", ToString(scope), ": no effect, because a job with ", kMaxParallel,
                                " restarts only single tasks (tony.restart.task.budget)"));
  for (const auto& role : spec.roles) {
    const RestartScope smallest = SmallestScope(spec, role, true);
    if (!role.restart_scope || *role.restart_scope >= smallest) continue;
    warnings.push_back(StrCat("role ", role.name, ": restart scope ", ToString(*role.restart_scope),
                              " is smaller than ", ToString(smallest), ", which ", ToString(spec.framework),
                              " needs: tasks that keep running may hang, or compute wrong results"));
  }
  return warnings;
}

// Warns about tasks that may fail although the framework makes the tasks depend on each other. This is not an error,
// because programs whose tasks work independently run under such a framework, too.
std::vector<std::string> ToleranceWarnings(const JobSpec& spec) {
  std::vector<std::string> warnings;
  if (spec.TrackedTasks() < 2) return warnings;
  for (const auto& role : spec.roles) {
    const bool decides = spec.completion_rule == CompletionRule::kTony && spec.IsChief({role.name, role.instances - 1});
    const bool may_fail = role.CountsFailures() && role.FailureLimit() != 1 && !decides;
    if (!may_fail || SmallestScope(spec, role, true) < RestartScope::kGang) continue;
    warnings.push_back(StrCat("role ", role.name, ": its tasks may fail without failing the job, but a collective of ",
                              ToString(spec.framework),
                              " cannot continue without one of its tasks: the other tasks may hang; for independent "
                              "tasks set "
                              "tony.application.distributed-mode=FCFS"));
  }
  return warnings;
}

}  // namespace tony
