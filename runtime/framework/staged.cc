// What no other framework has yet: named ports, stages, published values, tasks of several processes. For tests of TonY
// itself; no property asks for it.
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
#include "runtime/base/strings.h"
#include "runtime/framework/frameworks.h"

namespace tony {
namespace {

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

RestartScope ScopeOfRestart(const JobSpec&, const RoleSpec&, RestartScope if_reachable) { return if_reachable; }

}  // namespace

const Framework& StagedFramework() {
  static const Framework framework = {.check = CheckStaged,
                                      .environment = StagedEnvironment,
                                      .variables = {"STAGED_ADDRESSES", "STAGED_DATA", "STAGED_PORTS",
                                                    "STAGED_PROCESS_PORT", "STAGED_RANK", "STAGED_SIZE"},
                                      .smallest_scope = ScopeOfRestart,
                                      .port_names = StagedPorts,
                                      .stage = StageOfRole,
                                      .value_names = StagedValues,
                                      .several_processes = true};
  return framework;
}

}  // namespace tony
