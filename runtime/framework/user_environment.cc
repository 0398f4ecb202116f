#include "runtime/framework/user_environment.h"

#include "runtime/base/strings.h"
#include "runtime/framework/framework.h"
#include "runtime/framework/hostfile.h"
#include "runtime/job/outputs.h"

namespace tony {
namespace {

// MAX_ARG_STRLEN of the kernel: one "NAME=value" with its final zero byte.
constexpr size_t kLongestVariable = 128 << 10;

// Where torch.distributed.elastic's @record writes the exception that ended a program. Our parser reads its form, too.
constexpr const char* kTorchErrorFile = "TORCHELASTIC_ERROR_FILE";
// Its name for a launch of a whole group. Libraries take it for the sign that somebody else starts the processes.
constexpr const char* kTorchRunId = "TORCHELASTIC_RUN_ID";

void Add(const std::vector<std::string>& variables, Environment& environment) {
  for (const auto& variable : variables) {
    const size_t equals = variable.find('=', 1);
    if (equals != std::string::npos) environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
}

// `inherited` without what belongs to the submitting shell or, if that is itself a task, to another job.
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
  if (LeavesOutputs(spec, place.attempt.task) && place.process == 0)
    own["TONY_OUTPUT_FILE"] = OutputFile(place.folder.work).string();
  if (const auto port = place.ports.find(std::string(kTensorBoardPort));
      port != place.ports.end() && place.process == 0)
    own["TB_PORT"] = StrCat(port->second);
  if (spec.mode == DistributedMode::kGang) own["TONY_HOSTFILE"] = HostfileOf(place).string();
  if (!ValueNames(spec, place.attempt.task).empty()) own["TONY_PUBLISH_FILE"] = PublishFile(place.folder.work).string();
  if (!spec.checkpoint.directory.empty()) own["TONY_CHECKPOINT_DIR"] = spec.checkpoint.directory;
  if (!place.resume_from.empty()) own["TONY_RESUME_FROM"] = place.resume_from;
  // TonY restarted only whole jobs, and told programs so by this; it was not set before.
  const int64_t formed_again = cluster.generation.value - 1;
  if (formed_again > 0) own["NUM_AM_RETRIES"] = StrCat(formed_again);
  return own;
}

// What the scheduler's node decided for this container; it is not the job's to say where the role asks for GPUs.
Environment GpuVariables(const std::vector<std::string>& inherited) {
  Environment found;
  for (const auto& variable : inherited)
    for (const std::string_view name : {"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
      if (variable.starts_with(name) && variable.size() > name.size() && variable[name.size()] == '=')
        found[std::string(name)] = variable.substr(name.size() + 1);
  return found;
}

// Whether links in the task's folder lead to what other jobs may use too.
bool SharesFolders(const JobSpec& spec, const std::string& role_name) {
  const RoleSpec* role = spec.FindRole(role_name);
  return !spec.python_venv.empty() || !spec.files.empty() || (role && !role->files.empty());
}

void Override(Environment& environment, const Environment& with) {
  for (const auto& [name, value] : with) environment[name] = value;
}

// The PATH of a shell where none is set.
constexpr const char* kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// As bin/activate does.
void Activate(const std::filesystem::path& venv, Environment& environment) {
  const std::string path = environment.try_emplace("PATH", kUsualPath).first->second;
  environment["PATH"] = StrCat((venv / "bin").string(), ":", path);
  environment["VIRTUAL_ENV"] = venv.string();
  environment.erase("PYTHONHOME");
}

// The search paths of a shell, the loader and Python.
bool IsSearchPath(std::string_view name) { return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "PYTHONPATH"; }

// The folders of src_dir that the job's own search paths name are those of the task's copy.
void MeanCopy(const JobSpec& spec, const std::filesystem::path& work, Environment& environment) {
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

}  // namespace

UserEnvironment MakeUserEnvironment(const JobSpec& spec, const ClusterSpec& cluster, const AttemptPlace& place,
                                    const std::vector<std::string>& inherited,
                                    const std::vector<std::string>& secrets) {
  Environment environment = Inherited(spec, inherited);
  Override(environment, spec.container_env);
  Override(environment, spec.execution_env);
  Add(secrets, environment);
  MeanCopy(spec, place.folder.work, environment);
  if (!spec.python_venv.empty()) Activate(place.folder.work / kVenvFolder, environment);
  // Or the last words of a Python program that dies are lost with its buffer.
  environment.try_emplace("PYTHONUNBUFFERED", "1");
  // As root it would write __pycache__ into the staged folders that all jobs share.
  if (SharesFolders(spec, place.attempt.task.role)) environment.try_emplace("PYTHONDONTWRITEBYTECODE", "1");
  if (spec.framework == FrameworkKind::kPytorch) {
    environment.try_emplace(kTorchErrorFile, ErrorFile(place.folder.work, place.process).string());
    environment.try_emplace(kTorchRunId, place.job.value);
    // As torchrun does, where the user has not said otherwise.
    environment.try_emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    if (spec.ProcessesOf(place.attempt.task.role) > 1) environment.try_emplace("OMP_NUM_THREADS", "1");
  }
  UserEnvironment result;
  for (const auto& [name, value] : FrameworkEnvironment(spec, cluster, place.attempt.task, place.process)) {
    if (name.size() + value.size() + 2 <= kLongestVariable) {
      environment[name] = value;
      continue;
    }
    const auto file = place.folder.work / OfProcess(StrCat("tony-", ToLower(name)), place.process);
    environment[name + "_FILE"] = file.string();
    environment.erase(name);
    result.files.push_back({file, value});
  }
  if (spec.mode == DistributedMode::kGang && place.process == 0) {
    const auto [with, known] = Together(spec, cluster, place.attempt.task.role);
    result.files.push_back({HostfileOf(place), Hostfile(with, known)});
  }
  const RoleSpec* role = spec.FindRole(place.attempt.task.role);
  for (const auto& [name, value] : GpuVariables(inherited)) {
    environment.try_emplace(name, value);
    if (role && role->resources.gpus > 0) environment[name] = value;
  }
  Override(environment, OwnVariables(spec, cluster, place));
  for (const auto& [name, value] : environment) result.variables.push_back(StrCat(name, "=", value));
  return result;
}

std::filesystem::path ErrorFile(const std::filesystem::path& work_folder, int process) {
  return work_folder / (OfProcess("tony-error", process) + ".json");
}

std::filesystem::path OutputFile(const std::filesystem::path& work_folder) { return work_folder / "tony-output.json"; }

std::filesystem::path PublishFile(const std::filesystem::path& work_folder) { return work_folder / "tony-publish"; }

std::filesystem::path NoticeFile(const std::filesystem::path& work_folder) { return work_folder / "tony-notice.json"; }

}  // namespace tony
