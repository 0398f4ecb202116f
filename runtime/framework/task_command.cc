#include "runtime/framework/task_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "runtime/base/strings.h"
#include "runtime/base/unique_fd.h"
#include "runtime/framework/framework.h"
#include "runtime/framework/horovod.h"
#include "runtime/job/cluster_spec.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

// Reserved words and builtins of bash 5. A program of the same name may exist (echo, kill, test). bash would not run
// this program.
constexpr std::string_view kNotPrograms[] = {
    ".",       ":",       "alias",    "bg",        "bind",     "break",    "builtin", "caller",  "case",   "cd",
    "command", "compgen", "complete", "compopt",   "continue", "coproc",   "declare", "dirs",    "disown", "do",
    "done",    "echo",    "elif",     "else",      "enable",   "esac",     "eval",    "exec",    "exit",   "export",
    "false",   "fc",      "fg",       "fi",        "for",      "function", "getopts", "hash",    "help",   "history",
    "if",      "in",      "jobs",     "kill",      "let",      "local",    "logout",  "mapfile", "popd",   "printf",
    "pushd",   "pwd",     "read",     "readarray", "readonly", "return",   "select",  "set",     "shift",  "shopt",
    "source",  "suspend", "test",     "then",      "time",     "times",    "trap",    "true",    "type",   "typeset",
    "ulimit",  "umask",   "unalias",  "unset",     "until",    "wait",     "while",
};

bool IsPlain(char c) {
  constexpr std::string_view kPlain = "_./:+,@%=-";
  const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alphanumeric || kPlain.find(c) != std::string_view::npos;
}

std::vector<std::string> PlainWords(const std::string& command) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : command) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank && !IsPlain(c)) return {};
    if (!blank && !in_word) words.emplace_back();
    if (!blank) words.back() += c;
    in_word = !blank;
  }
  return words;
}

std::string_view ValueOf(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view variable : environment)
    if (variable.starts_with(name) && variable.substr(name.size()).starts_with('='))
      return variable.substr(name.size() + 1);
  return {};
}

// Returns whether the variable makes bash read a file first, know other commands, or behave differently.
bool ConfiguresBash(std::string_view variable) {
  constexpr std::string_view kNames[] = {
      "BASH_ENV=", "BASHOPTS=", "SHELLOPTS=", "BASH_FUNC_", "BASH_COMPAT=", "POSIXLY_CORRECT="};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return variable.starts_with(name); });
}

// Returns false for scripts, so they are started by bash, which reports a missing interpreter.
bool IsBinary(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  char magic[4] = {};
  return fd.valid() && read(fd.get(), magic, sizeof magic) == sizeof magic && std::string_view(magic, 4) == "\177ELF";
}

bool IsProgram(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Returns the absolute path of the program. Returns "" if no such program exists, or if only bash, in the task's
// folder, can find the program.
std::string FindProgram(const std::string& name, std::string_view path) {
  if (name.starts_with('/')) return IsProgram(name) ? name : "";
  if (name.find('/') != std::string::npos) return "";
  for (const auto& folder : Split(path, ':')) {
    if (!folder.starts_with('/')) return "";
    std::string program = StrCat(folder, folder.ends_with('/') ? "" : "/", name);
    if (IsProgram(program)) return program;
  }
  return "";
}

NamedPorts PortsOf(const JobSpec& spec, const TaskId& task) {
  NamedPorts ports;
  for (const std::string& name : PortNames(spec, task)) ports[name] = 0;
  return ports;
}

ClusterSpec PlannedCluster(const JobSpec& spec, const RoleSpec& reader, const std::string& host) {
  ClusterSpec cluster{.generation = {1}};
  for (const RoleSpec& role : spec.roles) {
    const bool known = KnowsRole(spec, reader, role) && !IsBefore(spec, role.name, reader.name);
    if (known) cluster.roles[role.name].assign(static_cast<size_t>(role.instances), Endpoint{host, 0});
    if (known && role.processes > 1) cluster.processes[role.name] = role.processes;
    for (TaskId task{role.name, 0}; task.index < role.instances; ++task.index) {
      for (const std::string& name : ValueNames(spec, task)) cluster.values[task][name] = "<" + name + ">";
      if (const NamedPorts ports = PortsOf(spec, task); known && !ports.empty()) cluster.ports[task] = ports;
    }
  }
  return cluster;
}

// Replaces the GPU variables with placeholders, because the node will choose the GPUs. A container has the variables of
// its image, which are not known here, instead of those of the node.
std::vector<std::string> EnvironmentOn(const PlannedNode& node, const RoleSpec& role) {
  std::vector<std::string> environment = role.image.empty() ? node.environment : std::vector<std::string>();
  if (role.resources.gpus == 0) return environment;
  for (const char* name : {"CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES="}) {
    std::erase_if(environment, [name](const std::string& variable) { return variable.starts_with(name); });
    environment.push_back(std::string(name) + "<gpus>");
  }
  if (node.is_here) environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  return environment;
}

// Replaces the folder of the Python environment's programs in PATH: `there`, the folder in the task, becomes `here`,
// the folder on this machine. `here` is empty for a packed environment, whose content is not known.
std::vector<std::string> WithPathHere(std::vector<std::string> environment, const std::string& there,
                                      const std::string& here) {
  const std::string start = StrCat("PATH=", there, ":");
  for (std::string& variable : environment)
    if (variable.starts_with(start))
      variable = StrCat("PATH=", here, here.empty() ? "" : ":", variable.substr(start.size()));
  return environment;
}

// Returns the process that will run the command in the folder `work`. `python_venv` is the Python environment of the
// job.
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

// MAX_ARG_STRLEN of the kernel: the limit for one "NAME=value" with its final zero byte.
constexpr size_t kLongestVariable = 128 << 10;

// The variable that names the error file of torch.distributed.elastic: @record writes the exception that ended a
// program into this file. ParseErrorReport() reads the format of the file.
constexpr const char* kTorchErrorFile = "TORCHELASTIC_ERROR_FILE";
// The variable for torchrun's run id, which is the same for all processes of one launch. Libraries take this variable
// as a sign that a launcher has started the processes.
constexpr const char* kTorchRunId = "TORCHELASTIC_RUN_ID";

void Add(const std::vector<std::string>& variables, Environment& environment) {
  for (const auto& variable : variables) {
    const size_t equals = variable.find('=', 1);
    if (equals != std::string::npos) environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
}

// Returns the variables of `inherited` except those that TonY sets, and except OLDPWD. If the job was submitted from a
// task of another job, `inherited` has the values of these variables for that task.
Environment Inherited(const JobSpec& spec, const std::vector<std::string>& inherited) {
  Environment environment;
  Add(inherited, environment);
  for (const auto& name : ReservedVariables(spec)) {
    environment.erase(name);
    environment.erase(name + "_FILE");
  }
  environment.erase("OLDPWD");
  environment.erase(kTorchErrorFile);
  environment.erase(kTorchRunId);
  return environment;
}

std::filesystem::path HostfileOf(const AttemptPlace& place) { return place.folder.work / "tony-hostfile"; }

// Returns the parameters of a trial; null if the task is not a trial.
const std::string* TrialOf(const JobSpec& spec, const TaskId& task) {
  const auto index = static_cast<size_t>(task.index);
  const bool is_trial = spec.sweep && task.role == kTrialRole && index < spec.sweep->trials.size();
  return is_trial ? &spec.sweep->trials[index] : nullptr;
}

void AddParameters(const std::string& trial, Environment& environment) {
  const auto parameters = ParseOutputs(trial);
  if (!parameters.ok()) return;
  for (const OutputMember& parameter : parameters->members) environment[parameter.name] = parameter.text.value_or("");
}

Environment OwnVariables(const JobSpec& spec, const ClusterSpec& cluster, const AttemptPlace& place) {
  Environment own = {
      {"APPID", place.job.value},
      {"CONTAINER_ID", place.container.value},
      {"JOB_ID", place.job.value},
      {"PWD", place.folder.work.string()},
      {"TONY_ATTEMPT", StrCat(place.attempt.number)},
      {"TONY_CONTAINER", StrCat(place.job.value, "/", place.container.value)},
      {"TONY_ERROR_FILE", ErrorFile(place.folder.work, place.process).string()},
      {"TONY_GENERATION", StrCat(cluster.generation.value)},
      {"TONY_JOB_ID", place.job.value},
      {"TONY_LOG_DIR", place.folder.logs.string()},
      {"TONY_NOTICE_FILE", NoticeFile(place.folder.work).string()},
      {"TONY_TASK", ToString(place.attempt.task)},
  };
  if (const int processes = spec.ProcessesOf(place.attempt.task.role); processes > 1) {
    own["TONY_PROCESS_COUNT"] = StrCat(processes);
    own["TONY_PROCESS_INDEX"] = StrCat(place.process);
  }
  if (IsOutputTask(spec, place.attempt.task) && place.process == 0)
    own["TONY_OUTPUT_FILE"] = OutputFile(place.folder.work).string();
  if (const std::string* trial = TrialOf(spec, place.attempt.task)) own["TONY_PARAMETERS"] = *trial;
  if (const auto port = place.ports.find(std::string(kTensorBoardPort));
      port != place.ports.end() && place.process == 0)
    own["TB_PORT"] = StrCat(port->second);
  if (spec.mode == DistributedMode::kGang) own["TONY_HOSTFILE"] = HostfileOf(place).string();
  if (!ValueNames(spec, place.attempt.task).empty()) own["TONY_PUBLISH_FILE"] = PublishFile(place.folder.work).string();
  if (!spec.checkpoint.directory.empty()) own["TONY_CHECKPOINT_DIR"] = spec.checkpoint.directory;
  if (!place.resume_from.empty()) own["TONY_RESUME_FROM"] = place.resume_from;
  // TonY restarted only whole jobs, and this variable counted the restarts. TonY did not set the variable before the
  // first restart.
  const int64_t formed_again = cluster.generation.value - 1;
  if (formed_again > 0) own["NUM_AM_RETRIES"] = StrCat(formed_again);
  return own;
}

// Returns the GPU variables that the node has set for this container. If the role requests GPUs, the job cannot
// override them.
Environment GpuVariables(const std::vector<std::string>& inherited) {
  Environment found;
  for (const auto& variable : inherited)
    for (const std::string_view name : {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
      if (variable.starts_with(name) && variable.size() > name.size() && variable[name.size()] == '=')
        found[std::string(name)] = variable.substr(name.size() + 1);
  return found;
}

// Returns whether links in the task's folder lead to folders that other jobs may use as well.
bool SharesFolders(const JobSpec& spec, const std::string& role_name) {
  const RoleSpec* role = spec.FindRole(role_name);
  return !spec.python_venv.empty() || !spec.files.empty() || (role && !role->files.empty());
}

void Override(Environment& environment, const Environment& with) {
  for (const auto& [name, value] : with) environment[name] = value;
}

Environment ReproducedVariables(const JobSpec& spec, int process) {
  if (spec.reproduced.empty()) return {};
  return spec.reproduced[std::min(static_cast<size_t>(process), spec.reproduced.size() - 1)].variables;
}

// The PATH of a shell if none is set.
constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// Sets the variables that bin/activate of the Python environment sets.
void Activate(const std::filesystem::path& venv, Environment& environment) {
  const std::string path = environment.try_emplace("PATH", kUsualPath).first->second;
  environment["PATH"] = StrCat((venv / "bin").string(), ":", path);
  environment["VIRTUAL_ENV"] = venv.string();
  environment.erase("PYTHONHOME");
}

// Returns whether the variable is a search path of the shell, the loader or Python.
bool IsSearchPath(std::string_view name) { return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "PYTHONPATH"; }

// Changes folders of src_dir in the job's own search paths to the same folders of the task's copy.
void UseTaskCopy(const JobSpec& spec, const std::filesystem::path& work, Environment& environment) {
  if (!spec.src_dir.starts_with('/')) return;
  for (const auto* own : {&spec.container_env, &spec.execution_env})
    for (const auto& [name, given] : *own) {
      const auto value = environment.find(name);
      if (!IsSearchPath(name) || value == environment.end() || value->second != given) continue;
      std::vector<std::string> folders = Split(given, ':');
      for (std::string& folder : folders)
        if (folder == spec.src_dir || folder.starts_with(spec.src_dir + "/"))
          folder = StrCat(work.string(), folder.substr(spec.src_dir.size()));
      value->second = Join(folders, ":");
    }
}

// Adds the variables of Horovod that FrameworkEnvironment() cannot know. Workers on one machine use the loopback
// device, because Gloo would look for the address of the machine's name. A value that the user has set stays.
void AddHorovodVariables(const ClusterSpec& cluster, const AttemptPlace& place, Environment& environment) {
  if (place.attempt.task.role == kHorovodDriver) {
    environment["DRIVER_OUTPUT_PATH"] = place.folder.work.string();
    environment["TONY_EXECUTOR"] = place.executor;
  }
  const auto is_local = [](const auto& role) {
    return std::ranges::all_of(role.second, [](const Endpoint& task) { return task.host == kLoopback; });
  };
  if (std::ranges::all_of(cluster.roles, is_local)) environment.try_emplace("HOROVOD_GLOO_IFACE", "lo");
}

// MXNet's scheduler cannot listen at the name of its host. With this variable it listens at all addresses, so that the
// other tasks reach it by the name. A value that the user has set stays.
void AddMxnetVariables(const TaskId& task, Environment& environment) {
  if (task.role == "scheduler" && !environment.contains("DMLC_NODE_HOST"))
    environment.try_emplace("DMLC_USE_KUBERNETES", "1");
}

}  // namespace

std::optional<SimpleCommand> AsSimpleCommand(const std::string& command, const std::vector<std::string>& environment) {
  if (std::ranges::any_of(environment, ConfiguresBash)) return std::nullopt;
  auto words = PlainWords(command);
  if (words.empty() || words[0].find_first_of("=%") != std::string::npos) return std::nullopt;
  if (std::ranges::find(kNotPrograms, words[0]) != std::end(kNotPrograms)) return std::nullopt;
  const std::string program = FindProgram(words[0], ValueOf(environment, "PATH"));
  if (program.empty() || !IsBinary(program)) return std::nullopt;
  return SimpleCommand{program, std::move(words)};
}

void AddBashVariables(std::vector<std::string>& environment, const std::string& program) {
  std::erase_if(environment, [](const std::string& variable) { return variable.starts_with("_="); });
  environment.push_back(StrCat("_=", program));
  if (ValueOf(environment, "SHLVL").empty()) environment.push_back("SHLVL=0");
}

Result<pid_t> StartCommand(ProcessRunner& processes, const std::string& command, ProcessSpec spec,
                           const ProcessRunner::OnExit& on_exit) {
  if (auto simple = AsSimpleCommand(command, spec.env)) {
    ProcessSpec direct = spec;
    direct.program = simple->program;
    direct.argv = std::move(simple->argv);
    AddBashVariables(direct.env, simple->program);
    auto pid = processes.Start(direct, on_exit);
    if (pid.ok()) return pid;
  }
  spec.argv = {"/bin/bash", "-c", command};
  return processes.Start(spec, on_exit);
}

PlannedTask PlanTask(const JobSpec& spec, const TaskId& task, const PlannedNode& node,
                     const std::vector<std::string>& secrets) {
  const RoleSpec& role = *spec.FindRole(task.role);
  const ClusterSpec cluster = PlannedCluster(spec, role, node.host);
  AttemptPlace place{.job = {"<job>"},
                     .attempt = {task, 1},
                     .container = {"<container>"},
                     .folder = AttemptFolder("<folder>", {task, 1}),
                     .ports = PortsOf(spec, task),
                     .executor = "<executor>"};
  PlannedTask planned{.directory = place.folder.work.string()};
  for (; place.process < role.processes; ++place.process) {
    auto made = MakeUserEnvironment(spec, cluster, place, EnvironmentOn(node, role), secrets);
    planned.processes.push_back(
        node.is_here && role.image.empty()
            ? PlanProcess(role.command, std::move(made.variables), planned.directory, spec.python_venv)
            : PlannedProcess{{"/bin/bash", "-c", role.command}, std::move(made.variables)});
  }
  return planned;
}

bool KnowsRole(const JobSpec& spec, const RoleSpec& reader, const RoleSpec& other) {
  if (spec.mode == DistributedMode::kGang) return true;
  if (std::ranges::count(reader.depends_on, other.name, &Dependency::role) > 0) return true;
  const bool takes_part = !reader.depends_on.empty() || IsAwaited(spec, reader.name, Dependency::Until::kReady);
  return other.name == reader.name && reader.instances == 1 && takes_part;
}

UserEnvironment MakeUserEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const AttemptPlace& place,
                                    const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& secrets) {
  Environment environment = Inherited(spec, inherited);
  Override(environment, spec.container_env);
  Override(environment, spec.execution_env);
  Add(secrets, environment);
  if (const std::string* trial = TrialOf(spec, place.attempt.task)) AddParameters(*trial, environment);
  UseTaskCopy(spec, place.folder.work, environment);
  if (!spec.python_venv.empty()) Activate(place.folder.work / kVenvFolder, environment);
  // Without this variable, the last output of a Python program that dies is lost with its buffer.
  environment.try_emplace("PYTHONUNBUFFERED", "1");
  // Without this variable, Python that runs as root would write __pycache__ into the staged folders that all jobs
  // share.
  if (SharesFolders(spec, place.attempt.task.role)) environment.try_emplace("PYTHONDONTWRITEBYTECODE", "1");
  if (spec.framework == FrameworkKind::kPytorch) {
    environment.try_emplace(kTorchErrorFile, ErrorFile(place.folder.work, place.process).string());
    environment.try_emplace(kTorchRunId, place.job.value);
    // torchrun would set these two variables to the same values. A value that the user has set stays.
    environment.try_emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    if (spec.ProcessesOf(place.attempt.task.role) > 1) environment.try_emplace("OMP_NUM_THREADS", "1");
  }
  if (spec.framework == FrameworkKind::kHorovod) AddHorovodVariables(cluster, place, environment);
  UserEnvironment result;
  const Environment reproduced = ReproducedVariables(spec, place.process);
  Environment computed = FrameworkEnvironment(spec, cluster, place.attempt.task, place.process);
  Override(computed, reproduced);
  for (const auto& [name, value] : computed) {
    if (name.size() + value.size() + 2 <= kLongestVariable) {
      environment[name] = value;
      continue;
    }
    const auto file = place.folder.work / NameForProcess(StrCat("tony-", ToLower(name)), place.process);
    environment[name + "_FILE"] = file.string();
    environment.erase(name);
    result.files.push_back({file, value});
  }
  if (spec.framework == FrameworkKind::kMxnet) AddMxnetVariables(place.attempt.task, environment);
  if (spec.mode == DistributedMode::kGang && place.process == 0) {
    const auto [with, known] = Together(spec, cluster, place.attempt.task.role);
    result.files.push_back({HostfileOf(place), Hostfile(with, known)});
  }
  const RoleSpec* role = spec.FindRole(place.attempt.task.role);
  for (const auto& [name, value] : GpuVariables(inherited)) {
    environment.try_emplace(name, value);
    if (role && role->resources.gpus > 0) environment[name] = value;
  }
  for (const auto& [name, value] : OwnVariables(spec, cluster, place))
    if (!reproduced.contains(name)) environment[name] = value;
  for (const auto& [name, value] : environment) result.variables.push_back(StrCat(name, "=", value));
  return result;
}

std::filesystem::path ErrorFile(const std::filesystem::path& work_folder, int process) {
  return work_folder / (NameForProcess("tony-error", process) + ".json");
}

std::filesystem::path OutputFile(const std::filesystem::path& work_folder) { return work_folder / "tony-output.json"; }

std::filesystem::path PublishFile(const std::filesystem::path& work_folder) { return work_folder / "tony-publish"; }

std::filesystem::path NoticeFile(const std::filesystem::path& work_folder) { return work_folder / "tony-notice.json"; }

}  // namespace tony
