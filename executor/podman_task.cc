#include "executor/podman_task.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "runtime/base/strings.h"
#include "runtime/job/environment.h"
#include "runtime/job/job_spec.h"
#include "runtime/os/files.h"
#include "runtime/os/podman.h"

namespace tony::executor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCudaVisible = "CUDA_VISIBLE_DEVICES";
constexpr int kHighestSignal = 64;

fs::path StartedFile(const AttemptPlace& place, int process) {
  return place.folder.work / NameForProcess("tony-container-started", process);
}

// Returns whether a shell can set the variable. The names of bash's own constants would end the script.
bool CanBeExported(std::string_view name) {
  constexpr std::string_view kConstants[] = {"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"};
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::ranges::all_of(name, is_word) &&
         std::ranges::find(kConstants, name) == std::end(kConstants);
}

// The folders that a task uses: its own, those to which links in its folder lead, the checkpoints, and those that the
// job asks for.
Result<std::vector<PodmanRun::Folder>> FoldersOf(const JobRecords& records, const JobSpec& spec,
                                                 const AttemptPlace& place) {
  std::vector<PodmanRun::Folder> folders;
  const auto add = [&](const fs::path& path, bool read_only) {
    const std::string text = path.string();
    const bool is_there = std::ranges::find(folders, text, &PodmanRun::Folder::target) != folders.end();
    if (!is_there) folders.push_back({text, text, read_only});
  };
  add(place.folder.work, false);
  add(place.folder.logs, false);
  TRY_ASSIGN(const auto staged, records.ReadStaged());
  if (staged) {
    for (const StagedEntry& entry : staged->job) add(entry.path, true);
    if (const auto own = staged->roles.find(place.attempt.task.role); own != staged->roles.end())
      for (const StagedEntry& entry : own->second) add(entry.path, true);
  }
  if (spec.checkpoint.directory.starts_with('/')) {
    TRY(MakeFolder(spec.checkpoint.directory));
    add(spec.checkpoint.directory, false);
    const bool is_below = place.resume_from.starts_with(spec.checkpoint.directory);
    if (place.resume_from.starts_with('/') && !is_below) add(place.resume_from, true);
  }
  for (const auto& folder : folders)
    if (folder.source.find(':') != std::string::npos)
      return InvalidError("podman cannot mount ", folder.source, ", because its path contains a colon");
  TRY_ASSIGN(const auto mounts, ParseMounts(spec.mounts));
  for (const Mount& mount : mounts) folders.push_back({mount.source, mount.target, mount.read_only});
  return folders;
}

Result<UniqueFd> InMemory(const std::string& text) {
  UniqueFd file(memfd_create("tony-container", MFD_CLOEXEC));
  if (!file.valid()) return UnavailableError("make a file in memory: ", ErrnoText(errno));
  TRY(WriteAll(file.get(), text, "a file in memory"));
  return file;
}

}  // namespace

std::vector<std::string> ContainerEnvironment(const std::vector<std::string>& image,
                                              const std::vector<std::string>& own, bool has_gpus) {
  std::vector<std::string> environment;
  for (const std::string& variable : image)
    if (!variable.starts_with("NVIDIA_VISIBLE_DEVICES=")) environment.push_back(variable);
  const auto visible = VariableOf(own, kCudaVisible);
  if (!visible) return environment;
  std::erase_if(environment, [](const std::string& variable) { return variable.starts_with("CUDA_VISIBLE_DEVICES="); });
  std::vector<std::string> numbers = Split(*visible, ',');
  // The container has no other GPUs, so CUDA numbers them from 0 there. A name stays the same.
  for (size_t i = 0; has_gpus && i < numbers.size(); ++i)
    if (ParseInt(numbers[i])) numbers[i] = StrCat(i);
  environment.push_back(StrCat(kCudaVisible, "=", Join(numbers, ",")));
  if (const auto order = VariableOf(own, "CUDA_DEVICE_ORDER")) environment.push_back("CUDA_DEVICE_ORDER=" + *order);
  return environment;
}

std::vector<std::string> GpuDevices(const std::vector<std::string>& own) {
  std::vector<std::string> devices;
  for (const std::string& gpu : Split(VariableOf(own, kCudaVisible).value_or(""), ','))
    if (!gpu.empty()) devices.push_back("nvidia.com/gpu=" + gpu);
  return devices;
}

std::string LaunchScript(const std::string& command, const std::vector<std::string>& environment,
                         const fs::path& started) {
  std::string script = StrCat(": >", ShellWord(started.string()), "\n");
  for (const std::string& variable : environment) {
    const size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    if (equals != std::string::npos && CanBeExported(name))
      script += StrCat("export ", name, "=", ShellWord(variable.substr(equals + 1)), "\n");
  }
  // A shell reports on its standard error that a signal has ended its command. It is closed here, and the second shell
  // gives the command the one of the task.
  return StrCat(script, "shell=/bin/sh; [ ! -x /bin/bash ] || shell=/bin/bash\n", "exec 3>&2 2>/dev/null\n",
                R"(/bin/sh -c 'exec "$0" -c "$1" 2>&3 3>&-' "$shell" )", ShellWord(command), "\nexit $?\n");
}

Result<ContainerProcess> InContainer(const JobRecords& records, const JobSpec& spec, const AttemptPlace& place,
                                     const ProcessSpec& process, const std::vector<std::string>& own_environment) {
  const RoleSpec& role = *spec.FindRole(place.attempt.task.role);
  TRY_ASSIGN(const std::string podman, FindPodman());
  const fs::path started = StartedFile(place, place.process);
  std::error_code error;
  fs::remove(started, error);
  TRY_ASSIGN(UniqueFd script, InMemory(LaunchScript(role.command, process.env, started)));
  PodmanRun run{.image = role.image,
                .name = StrCat(place.job.value, "-", role.name, "-", place.attempt.task.index, "-",
                               place.attempt.number, "-", place.process),
                .directory = process.directory,
                .labels = {StrCat(kJobLabel, "=", place.job.value)},
                .oom_score_adj = process.oom_score_adj,
                .script = {"/dev/fd/3"},
                .keeps_descriptor_3 = true};
  // The marks by which the keeper finds the processes of a container.
  for (const std::string_view name : {"TONY_CONTAINER", "TONY_JOB_ID"})
    if (const auto value = VariableOf(process.env, name)) run.environment.push_back(StrCat(name, "=", *value));
  TRY_ASSIGN(run.folders, FoldersOf(records, spec, place));
  if (role.resources.gpus > 0) run.devices = GpuDevices(own_environment);
  ProcessSpec outer = process;
  outer.env = own_environment;
  outer.oom_score_adj.clear();
  outer.argv = {"/bin/sh", "-c", StrCat("exec \"$@\" 3</dev/fd/", script.get()), "sh"};
  std::ranges::move(PodmanCommand(podman, run), std::back_inserter(outer.argv));
  outer.inherited = {script.get()};
  return ContainerProcess{std::move(outer), std::move(script)};
}

ExitStatus ExitInContainer(ExitStatus podman) {
  const int signal = podman.value - 128;
  if (podman.kind != ExitStatus::Kind::kExited || signal < 1 || signal > kHighestSignal) return podman;
  return {ExitStatus::Kind::kSignaled, signal};
}

Status CheckStarted(const AttemptPlace& place, int process, const std::string& stderr_tail) {
  std::error_code error;
  if (fs::remove(StartedFile(place, process), error) || error) return Ok();
  return UnavailableError("podman did not start the container: ", stderr_tail.substr(stderr_tail.rfind('\n') + 1));
}

TreeWalk SignalContainers(int signal) {
  TreeWalk inside;
  for (const pid_t pid : SignalDescendants(0).living)
    if (IsInInnerPidNamespace(pid)) inside.living.insert(pid);
  const bool to_all = inside.living.empty() && signal != SIGKILL;
  return SignalDescendants(signal, nullptr, [&](pid_t pid) { return to_all || inside.living.contains(pid); });
}

}  // namespace tony::executor
