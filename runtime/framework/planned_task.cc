#include "runtime/framework/planned_task.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/framework/command.h"
#include "runtime/framework/framework.h"
#include "runtime/framework/user_environment.h"
#include "runtime/job/dependencies.h"

namespace tony {
namespace {

NamedPorts PortsOf(const JobSpec& spec, const TaskId& task) {
  NamedPorts ports;
  for (const std::string& name : PortNames(spec, task)) ports[name] = 0;
  return ports;
}

// In FCFS mode: those for which it waits until they are ready, and itself where it is the only one of such a role.
bool Knows(const JobSpec& spec, const RoleSpec& reader, const RoleSpec& other) {
  if (spec.mode == DistributedMode::kGang) return true;
  if (std::ranges::count(reader.depends_on, other.name, &Dependency::role) > 0) return true;
  const bool takes_part = !reader.depends_on.empty() || IsAwaited(spec, reader.name, Dependency::Until::kReady);
  return other.name == reader.name && reader.instances == 1 && takes_part;
}

ClusterSpec PlannedCluster(const JobSpec& spec, const RoleSpec& reader, const std::string& host) {
  ClusterSpec cluster{.generation = {1}};
  for (const RoleSpec& role : spec.roles) {
    const bool known = Knows(spec, reader, role) && !IsBefore(spec, role.name, reader.name);
    if (known) cluster.roles[role.name].assign(static_cast<size_t>(role.instances), Endpoint{host, 0});
    if (known && role.processes > 1) cluster.processes[role.name] = role.processes;
    for (TaskId task{role.name, 0}; task.index < role.instances; ++task.index) {
      for (const std::string& name : ValueNames(spec, task)) cluster.values[task][name] = "<" + name + ">";
      if (const NamedPorts ports = PortsOf(spec, task); known && !ports.empty()) cluster.ports[task] = ports;
    }
  }
  return cluster;
}

// The node chooses the GPUs.
std::vector<std::string> EnvironmentOn(const PlannedNode& node, const RoleSpec& role) {
  std::vector<std::string> environment = node.environment;
  if (role.resources.gpus == 0) return environment;
  for (const char* name : {"CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES="}) {
    std::erase_if(environment, [name](const std::string& variable) { return variable.starts_with(name); });
    environment.push_back(std::string(name) + "<gpus>");
  }
  if (node.is_here) environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  return environment;
}

// As if `there`, where the task will find its Python environment's programs, were where they are now. Of a packed one
// nobody knows what is in it.
std::vector<std::string> WithPathHere(std::vector<std::string> environment, const std::string& there,
                                      const std::string& here) {
  const std::string start = StrCat("PATH=", there, ":");
  for (std::string& variable : environment)
    if (variable.starts_with(start))
      variable = StrCat("PATH=", here, here.empty() ? "" : ":", variable.substr(start.size()));
  return environment;
}

// `python_venv`: the job's.
PlannedProcess PlanProcess(const std::string& command, std::vector<std::string> environment, const std::string& work,
                           const std::string& python_venv) {
  PlannedProcess process{{"/bin/bash", "-c", command}, std::move(environment)};
  std::error_code error;
  const std::string there = StrCat(work, "/", kVenvFolder, "/bin");
  const std::string here = std::filesystem::is_directory(python_venv, error) ? python_venv + "/bin" : "";
  const auto simple = AsSimpleCommand(command, WithPathHere(process.environment, there, here));
  if (!simple) return process;
  process.argv = simple->argv;
  const bool in_venv = !here.empty() && simple->program.starts_with(here + "/");
  AddBashVariables(process.environment, in_venv ? StrCat(there, simple->program.substr(here.size())) : simple->program);
  std::ranges::sort(process.environment);
  return process;
}

}  // namespace

PlannedTask PlanTask(const JobSpec& spec, const TaskId& task, const PlannedNode& node,
                     const std::vector<std::string>& secrets) {
  const RoleSpec& role = *spec.FindRole(task.role);
  const ClusterSpec cluster = PlannedCluster(spec, role, node.host);
  AttemptPlace place{.job = {"<job>"},
                     .attempt = {task, 1},
                     .container = {"<container>"},
                     .folder = AttemptFolder("<folder>", {task, 1}),
                     .ports = PortsOf(spec, task)};
  PlannedTask planned{.directory = place.folder.work.string()};
  for (; place.process < role.processes; ++place.process) {
    auto made = MakeUserEnvironment(spec, cluster, place, EnvironmentOn(node, role), secrets);
    planned.processes.push_back(
        node.is_here ? PlanProcess(role.command, std::move(made.variables), planned.directory, spec.python_venv)
                     : PlannedProcess{{"/bin/bash", "-c", role.command}, std::move(made.variables)});
  }
  return planned;
}

}  // namespace tony
